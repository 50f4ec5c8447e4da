"""Test data: the kernels as bitcode."""

# As compiler_gym/envs/llvm compiles programs.
_FLAGS = ["-std=c11", "-O2", "-Xclang", "-disable-llvm-passes", "-w", "-emit-llvm", "-c"]

def _kernel_bitcode_impl(ctx):
    outputs = []
    for source in ctx.files.dataset:
        if source.basename != "program.c":
            continue
        name = source.dirname.rpartition("/")[2]
        output = ctx.actions.declare_file("kernels/%s.bc" % name)
        ctx.actions.run(
            executable = ctx.executable._clang,
            inputs = [source],
            outputs = [output],
            arguments = _FLAGS + [source.path, "-o", output.path],
            mnemonic = "KernelBitcode",
            progress_message = "Compiling the kernel " + name,
        )
        outputs.append(output)
    if not outputs:
        fail("%s has no kernels" % ctx.attr.dataset.label)
    files = depset(outputs)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

kernel_bitcode = rule(
    implementation = _kernel_bitcode_impl,
    doc = "Compiles every program.c among a target's files to kernels/NAME.bc.",
    attrs = {
        "dataset": attr.label(mandatory = True),
        "_clang": attr.label(
            default = "@llvm//:bin/clang",
            allow_single_file = True,
            cfg = "exec",
            executable = True,
        ),
    },
)
