"""The rule that makes the wheel."""

def _wheel_impl(ctx):
    package = ctx.attr.package[DefaultInfo].default_runfiles.files
    files = ctx.actions.args()
    files.use_param_file("@%s", use_always = True)
    files.set_param_file_format("multiline")
    files.add_all(package, map_each = _source_and_place)
    files.add_all(ctx.files.top_files, map_each = _source_and_place)
    flags = ctx.actions.args()
    flags.add_all(_link_flags(ctx.attr.linked))
    ctx.actions.run(
        executable = ctx.executable._builder,
        use_default_shell_env = True,
        arguments = [ctx.outputs.out.path, files, flags],
        inputs = depset(ctx.files.top_files, transitive = [package]),
        outputs = [ctx.outputs.out],
        mnemonic = "Wheel",
        progress_message = "Building %s" % ctx.outputs.out.short_path,
    )
    return DefaultInfo(
        files = depset([ctx.outputs.out]),
        runfiles = ctx.runfiles([ctx.outputs.out]),
    )

def _link_flags(libraries):
    infos = [library[CcInfo] for library in libraries]
    context = cc_common.merge_cc_infos(cc_infos = infos).linking_context
    return [flag for input in context.linker_inputs.to_list() for flag in input.user_link_flags]

def _source_and_place(file):
    return "%s=%s" % (file.short_path, file.path)

wheel = rule(
    implementation = _wheel_impl,
    doc = "A wheel of a Python library and all that it needs at run time, services included.",
    attrs = {
        "out": attr.output(mandatory = True, doc = "Its name holds the version and the platform."),
        "linked": attr.label_list(
            providers = [CcInfo],
            doc = "The libraries whose archives are part of the programs.",
        ),
        "package": attr.label(mandatory = True, doc = "The library."),
        "top_files": attr.label_list(allow_files = True, doc = "pyproject.toml and its like."),
        "_builder": attr.label(default = "//tools:build_wheel", executable = True, cfg = "host"),
    },
)

def _link_flags_impl(ctx):
    flags = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(flags, "\n".join(_link_flags(ctx.attr.libraries)) + "\n")
    return DefaultInfo(files = depset([flags]))

link_flags = rule(
    implementation = _link_flags_impl,
    doc = "A file with the linker's options for libraries, one in each line.",
    attrs = {"libraries": attr.label_list(providers = [CcInfo])},
)

def companion_wheel(name, out, package, files, linked, has_llvm = False):
    """A wheel with programs that not everyone needs, of the same version as the wheel.

    Args:
      name: of the target.
      out: the wheel, whose name holds the version and the platform.
      package: the Python package that the files are in.
      files: programs to their places in the package.
      linked: the libraries whose archives are part of the programs.
      has_llvm: whether the tools of the LLVM that services are built with are part of it.
    """
    words = ["$(location //tools:build_companion_wheel) $@ " + package]
    words += ["--version_file $(location //:VERSION)", "--license $(location //:LICENSE)"]
    words += ["--file %s=$(location %s)" % (place, label) for label, place in files.items()]
    link_flags(name = name + "_flags", libraries = linked)
    words.append("$$(sed 's/^/--link_flag=/' $(location :%s_flags))" % name)
    if has_llvm:
        words.append("--llvm $$(head -n 1 $(location @llvm//:prefix.txt))")
    native.genrule(
        name = name,
        srcs = ["//:LICENSE", "//:VERSION", "@llvm//:prefix.txt", name + "_flags"] + list(files),
        outs = [out],
        cmd = " ".join(words),
        tools = ["//tools:build_companion_wheel"],
    )
