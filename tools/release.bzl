"""The rules that make the files of a release."""

def _source_archive_impl(ctx):
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [ctx.file.workspace.path, ctx.outputs.out.path],
        # The commit of the tree, from tools/workspace_status.sh.
        inputs = [ctx.file.workspace, ctx.info_file],
        outputs = [ctx.outputs.out],
        # git lists the files, in the tree itself.
        execution_requirements = {"local": "1", "no-sandbox": "1"},
        mnemonic = "SourceArchive",
        use_default_shell_env = True,
    )
    return DefaultInfo(files = depset([ctx.outputs.out]))

source_archive = rule(
    implementation = _source_archive_impl,
    doc = "An archive of all files of the source tree that git knows.",
    attrs = {
        "out": attr.output(mandatory = True),
        "workspace": attr.label(mandatory = True, allow_single_file = True, doc = "WORKSPACE."),
        "_builder": attr.label(
            default = "//tools:build_source_archive",
            executable = True,
            cfg = "exec",
        ),
    },
)

def _release_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    copied = [ctx.file.sources, ctx.file.sdk]
    arguments = ctx.actions.args()
    arguments.add(folder.path)
    arguments.add("--version", ctx.attr.version)
    arguments.add("--container", ctx.file.container)
    arguments.add_all(copied, before_each = "--copy")
    arguments.add_all(ctx.files.programs, before_each = "--program")
    arguments.add_all(ctx.files.wheels, before_each = "--wheel")
    arguments.add_all(ctx.files.link_lines, before_each = "--link_lines")
    if ctx.file.sysroot:
        arguments.add("--sysroot", ctx.file.sysroot)
        copied = copied + [ctx.file.sysroot]
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [arguments],
        inputs = copied + ctx.files.programs + ctx.files.wheels + ctx.files.link_lines + [ctx.file.container],
        outputs = [folder],
        mnemonic = "Release",
        progress_message = "Checking the wheels of the release",
        use_default_shell_env = True,
    )
    return DefaultInfo(files = depset([folder]))

release = rule(
    implementation = _release_impl,
    doc = "A folder with the files of a release. The wheels are checked against how they are linked.",
    attrs = {
        "container": attr.label(mandatory = True, allow_single_file = True),
        "link_lines": attr.label_list(allow_files = True, doc = "Those of the wheels, in their order."),
        "programs": attr.label_list(doc = "The programs whose symbols are part of the release."),
        "sdk": attr.label(mandatory = True, allow_single_file = True),
        "sources": attr.label(mandatory = True, allow_single_file = True),
        "sysroot": attr.label(allow_single_file = True, doc = "Of target_system.bzl."),
        "version": attr.string(mandatory = True),
        "wheels": attr.label_list(mandatory = True),
        "_builder": attr.label(default = "//tools:build_release", executable = True, cfg = "exec"),
    },
)
