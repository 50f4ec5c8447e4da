"""The rules that make wheels."""

load(":target_system.bzl", "MACHINE", "SYSROOT")

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

def _file_name(ctx):
    """The name of a wheel, which tells pip the systems that it is for."""
    # tools/target_system.py has the oldest version of the C library, too.
    tags = "py3-none-manylinux_2_31_" + ctx.attr.machine
    return "%s-%s-%s.whl" % (ctx.attr.package_name, ctx.attr.version, tags)

def _build(ctx, builder, arguments, inputs):
    """Runs a program that makes a wheel."""
    out = ctx.actions.declare_file(_file_name(ctx))
    flags = ctx.actions.args()
    if ctx.file.sysroot:
        flags.add("--sysroot", ctx.file.sysroot)
        inputs = depset([ctx.file.sysroot], transitive = [inputs])
    ctx.actions.run(
        executable = builder,
        use_default_shell_env = True,
        arguments = [out.path] + arguments + [flags],
        inputs = inputs,
        outputs = [out],
        mnemonic = "Wheel",
        progress_message = "Building %s" % out.short_path,
    )
    return DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))

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
    inputs = depset(ctx.files.top_files + about, transitive = [package])
    return _build(ctx, ctx.executable._builder, [files, flags], inputs)

def _source_and_place(file):
    return "%s=%s" % (file.short_path, file.path)

_COMMON = {
    "link_lines": attr.label(
        mandatory = True,
        allow_single_file = True,
        doc = "How the programs are linked.",
    ),
    "machine": attr.string(mandatory = True, doc = "Of tools/target_system.bzl."),
    "package_name": attr.string(mandatory = True, doc = "What pip installs."),
    "sysroot": attr.label(
        allow_single_file = True,
        doc = "Of tools/target_system.bzl.",
    ),
    "version": attr.string(mandatory = True),
}

_wheel = rule(
    implementation = _wheel_impl,
    doc = "A wheel of a Python library and all that it needs at run time, services included.",
    attrs = dict(_COMMON, **{
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
        "package": attr.label(mandatory = True, doc = "The library."),
        "top_files": attr.label_list(allow_files = True, doc = "pyproject.toml and its like."),
        "_builder": attr.label(default = "//tools:build_wheel", executable = True, cfg = "exec"),
    }),
)

def _companion_wheel_impl(ctx):
    flags = ctx.actions.args()
    flags.add(ctx.attr.package_name)
    flags.add("--version_file", ctx.file._version_file)
    flags.add("--license", ctx.file._license)
    flags.add("--link_lines", ctx.file.link_lines)
    files = ctx.files.programs + ctx.files.data
    if len(files) != len(ctx.attr.places):
        fail("expected one file for each label, got %s" % files)
    for place, file in zip(ctx.attr.places, files):
        flags.add("--file", "%s=%s" % (place, file.path))
    if ctx.attr.has_llvm:
        flags.add("--llvm_file", ctx.file._llvm)
    inputs = [ctx.file._version_file, ctx.file._license, ctx.file._llvm, ctx.file.link_lines]
    return _build(ctx, ctx.executable._builder, [flags], depset(inputs + files))

_companion_wheel = rule(
    implementation = _companion_wheel_impl,
    doc = "A wheel with optional programs, of the same version as the main wheel.",
    attrs = dict(_COMMON, **{
        "data": attr.label_list(allow_files = True, doc = "Other files."),
        "has_llvm": attr.bool(
            doc = "Whether the tools of the LLVM that services are built with are part of it.",
        ),
        "places": attr.string_list(doc = "Where the programs are in the package, and then the data."),
        "programs": attr.label_list(),
        "_builder": attr.label(
            default = "//tools:build_companion_wheel",
            executable = True,
            cfg = "exec",
        ),
        "_license": attr.label(default = "//:LICENSE", allow_single_file = True),
        "_llvm": attr.label(default = "@llvm//:prefix.txt", allow_single_file = True),
        "_version_file": attr.label(default = "//:VERSION", allow_single_file = True),
    }),
)

def wheel(name, **kwargs):
    """A wheel of a Python library and all that it needs at run time, services included.

    Args:
      name: of the target.
      **kwargs: as of the rule.
    """
    _wheel(name = name, machine = MACHINE, sysroot = SYSROOT, **kwargs)

def companion_wheel(name, files, data = {}, tags = [], **kwargs):
    """A wheel with optional programs, of the same version as the main wheel.

    Args:
      name: of the target.
      files: programs to their places in the package.
      data: other files to their places.
      tags: of the target.
      **kwargs: as of the rule.
    """
    lines = name + "_link_lines"
    link_lines(name = lines, programs = list(files), tags = ["manual"])
    _companion_wheel(
        name = name,
        data = list(data),
        link_lines = lines,
        machine = MACHINE,
        places = files.values() + data.values(),
        programs = list(files),
        sysroot = SYSROOT,
        tags = tags,
        **kwargs
    )
