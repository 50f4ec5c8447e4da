"""The rule that makes the wheel."""

def _wheel_impl(ctx):
    package = ctx.attr.package[DefaultInfo].default_runfiles.files
    files = ctx.actions.args()
    files.use_param_file("@%s", use_always = True)
    files.set_param_file_format("multiline")
    files.add_all(package, map_each = _source_and_place)
    files.add_all(ctx.files.top_files, map_each = _source_and_place)
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [ctx.outputs.out.path, files],
        inputs = depset(ctx.files.top_files, transitive = [package]),
        outputs = [ctx.outputs.out],
        mnemonic = "Wheel",
        progress_message = "Building %s" % ctx.outputs.out.short_path,
    )
    return DefaultInfo(
        files = depset([ctx.outputs.out]),
        runfiles = ctx.runfiles([ctx.outputs.out]),
    )

def _source_and_place(file):
    return "%s=%s" % (file.short_path, file.path)

wheel = rule(
    implementation = _wheel_impl,
    doc = "A wheel of a Python library and all that it needs at run time, services included.",
    attrs = {
        "out": attr.output(mandatory = True, doc = "Its name holds the version and the platform."),
        "package": attr.label(mandatory = True, doc = "The library."),
        "top_files": attr.label_list(allow_files = True, doc = "pyproject.toml and its like."),
        "_builder": attr.label(default = "//tools:build_wheel", executable = True, cfg = "host"),
    },
)

def companion_wheel(name, out, package, files, has_llvm = False):
    """A wheel with programs that not everyone needs, of the same version as the wheel.

    Args:
      name: of the target.
      out: the wheel, whose name holds the version and the platform.
      package: the Python package that the files are in.
      files: programs to their places in the package.
      has_llvm: whether the tools of the LLVM that services are built with are part of it.
    """
    words = ["$(location //tools:build_companion_wheel) $@ " + package]
    words += ["--version_file $(location //:VERSION)", "--license $(location //:LICENSE)"]
    words += ["--file %s=$(location %s)" % (place, label) for label, place in files.items()]
    if has_llvm:
        words.append("--llvm $$(head -n 1 $(location @llvm//:prefix.txt))")
    native.genrule(
        name = name,
        srcs = ["//:LICENSE", "//:VERSION", "@llvm//:prefix.txt"] + list(files),
        outs = [out],
        cmd = " ".join(words),
        tools = ["//tools:build_companion_wheel"],
    )
