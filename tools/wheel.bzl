"""The rules that make wheels."""

_LinkLineInfo = provider(doc = "How a program is linked.", fields = ["arguments"])

def _link_line_impl(target, ctx):
    lines = [action.argv for action in target.actions if action.mnemonic == "CppLink"]
    if len(lines) != 1 or not lines[0]:
        fail("Expected a program that is linked, got %s" % target.label)
    return [_LinkLineInfo(arguments = lines[0])]

_link_line = aspect(
    implementation = _link_line_impl,
    doc = "The command that links a program, which tells what is part of it.",
)

def _link_lines_impl(ctx):
    lines = ctx.actions.declare_file(ctx.label.name + ".txt")
    arguments = []
    for program in ctx.attr.programs:
        arguments += program[_LinkLineInfo].arguments
    ctx.actions.write(lines, "\n".join(arguments) + "\n")
    return DefaultInfo(files = depset([lines]), runfiles = ctx.runfiles([lines]))

link_lines = rule(
    implementation = _link_lines_impl,
    doc = "A file with the arguments of the commands that link programs, one in each line.",
    attrs = {"programs": attr.label_list(aspects = [_link_line])},
)

def _wheel_impl(ctx):
    package = ctx.attr.package[DefaultInfo].default_runfiles.files
    files = ctx.actions.args()
    files.use_param_file("@%s", use_always = True)
    files.set_param_file_format("multiline")
    files.add_all(package, map_each = _source_and_place)
    files.add_all(ctx.files.top_files, map_each = _source_and_place)
    flags = ctx.actions.args()
    flags.add("--link_lines", ctx.file.link_lines)
    flags.add("--npm_lock", ctx.file.npm_lock)
    flags.add("--npm_packages", ctx.file.npm_packages)
    about = [ctx.file.link_lines, ctx.file.npm_lock, ctx.file.npm_packages]
    ctx.actions.run(
        executable = ctx.executable._builder,
        use_default_shell_env = True,
        arguments = [ctx.outputs.out.path, files, flags],
        inputs = depset(ctx.files.top_files + about, transitive = [package]),
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
        "link_lines": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "How the programs are linked.",
        ),
        "npm_lock": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "The package-lock.json of the explorer's page.",
        ),
        "npm_packages": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "A file that names the folder of its packages.",
        ),
        "out": attr.output(mandatory = True, doc = "Its name holds the version and the platform."),
        "package": attr.label(mandatory = True, doc = "The library."),
        "top_files": attr.label_list(allow_files = True, doc = "pyproject.toml and its like."),
        "_builder": attr.label(default = "//tools:build_wheel", executable = True, cfg = "exec"),
    },
)

def companion_wheel(name, out, package, files, data = {}, has_llvm = False, **kwargs):
    """A wheel with optional programs, of the same version as the main wheel.

    Args:
      name: of the target.
      out: the wheel, whose name holds the version and the platform.
      package: the Python package that the files are in.
      files: programs to their places in the package.
      data: other files to their places.
      has_llvm: whether the tools of the LLVM that services are built with are part of it.
      **kwargs: as of genrule.
    """
    words = ["$(location //tools:build_companion_wheel) $@ " + package]
    words += ["--version_file $(location //:VERSION)", "--license $(location //:LICENSE)"]
    words += ["--file %s=$(location %s)" % (place, label) for label, place in (files.items() + data.items())]
    lines = name + "_link_lines"
    link_lines(name = lines, programs = list(files), tags = ["manual"])
    words.append("--link_lines $(location :%s)" % lines)
    if has_llvm:
        words.append("--llvm $$(head -n 1 $(location @llvm//:prefix.txt))")
    native.genrule(
        name = name,
        srcs = ["//:LICENSE", "//:VERSION", "@llvm//:prefix.txt", lines] + list(files) + list(data),
        outs = [out],
        cmd = " ".join(words),
        tools = ["//tools:build_companion_wheel"],
        **kwargs
    )
