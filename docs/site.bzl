"""The rule that builds the site."""

def _site_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        executable = ctx.executable.builder,
        use_default_shell_env = True,
        arguments = [folder.path],
        outputs = [folder],
        mnemonic = "Site",
        progress_message = "Building the site",
    )
    return DefaultInfo(
        files = depset([folder]),
        runfiles = ctx.runfiles([folder]),
    )

site = rule(
    implementation = _site_impl,
    doc = "A folder of HTML that a program writes.",
    attrs = {
        "builder": attr.label(mandatory = True, executable = True, cfg = "target"),
    },
)
