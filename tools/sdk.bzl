"""The rule that makes the SDK."""

def _sdk_impl(ctx):
    runtime = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    headers = [
        file
        for file in runtime.compilation_context.headers.to_list()
        if file.short_path in ctx.attr.hdrs
    ]
    if len(headers) != len(ctx.attr.hdrs):
        found = [file.short_path for file in headers]
        fail("No dependency has the header %s" % [path for path in ctx.attr.hdrs if path not in found])
    inputs = runtime.linking_context.linker_inputs.to_list()
    archives = [
        library.pic_static_library or library.static_library
        for input in inputs
        for library in input.libraries
        if not input.owner.package.startswith("third_party")
    ]
    flags = [flag for input in inputs for flag in input.user_link_flags]
    share = ctx.files.share

    arguments = ctx.actions.args()
    arguments.add(ctx.outputs.out)
    arguments.add("--version_file", ctx.file.version_file)
    arguments.add_all(ctx.files.templates, before_each = "--template")
    arguments.add_all(headers + share, before_each = "--file", map_each = _source_and_place)
    arguments.add_all(archives, before_each = "--archive")
    arguments.add_all(flags, format_each = "--link_flag=%s")
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [arguments],
        inputs = headers + archives + share + ctx.files.templates + [ctx.file.version_file],
        outputs = [ctx.outputs.out],
        mnemonic = "Sdk",
        progress_message = "Building %s" % ctx.outputs.out.short_path,
        use_default_shell_env = True,
    )
    return DefaultInfo(
        files = depset([ctx.outputs.out]),
        runfiles = ctx.runfiles([ctx.outputs.out]),
    )

def _source_and_place(file):
    return "%s=%s" % (file.short_path, file.path)

sdk = rule(
    implementation = _sdk_impl,
    doc = "An archive with what it takes to build services outside of this repository.",
    attrs = {
        "out": attr.output(mandatory = True, doc = "Its name holds the version."),
        "deps": attr.label_list(providers = [CcInfo], doc = "The libraries, joined to one."),
        "hdrs": attr.string_list(doc = "The paths of the public headers. No others are installed."),
        "share": attr.label_list(allow_files = True, doc = "Files to go beside the headers."),
        "templates": attr.label_list(allow_files = True, doc = "See build_sdk.py."),
        "version_file": attr.label(allow_single_file = True, mandatory = True),
        "_builder": attr.label(default = "//tools:build_sdk", executable = True, cfg = "exec"),
    },
)
