"""Python modules compiled by the build, so that not each test compiles them anew."""

load("@python//:cache_tag.bzl", "CACHE_TAG")

_TOOLCHAIN = "@bazel_tools//tools/python:toolchain_type"

_Compiled = provider(doc = "The compiled modules of a target and its deps.", fields = ["files"])

def _compile_aspect_impl(target, ctx):
    files = [_compile(ctx, src) for src in _sources(ctx)]
    return [_Compiled(files = depset(
        files,
        transitive = [dep[_Compiled].files for dep in ctx.rule.attr.deps if _Compiled in dep],
    ))]

def _sources(ctx):
    return [
        src
        for src in getattr(ctx.rule.files, "srcs", [])
        if src.extension == "py" and src.owner.package == ctx.label.package
    ]

def _compile(ctx, src):
    name = "__pycache__/%s.%s.pyc" % (src.basename[:-len(".py")], CACHE_TAG)
    compiled = ctx.actions.declare_file(name, sibling = src)
    ctx.actions.run(
        executable = ctx.toolchains[_TOOLCHAIN].py3_runtime.interpreter_path,
        arguments = [ctx.file._compiler.path, src.path, compiled.path],
        inputs = [src, ctx.file._compiler],
        outputs = [compiled],
        mnemonic = "CompilePython",
        progress_message = "Compiling %s" % src.short_path,
    )
    return compiled

_compile_aspect = aspect(
    implementation = _compile_aspect_impl,
    attr_aspects = ["deps"],
    attrs = {
        "_compiler": attr.label(allow_single_file = True, default = "//tools:compile_python.py"),
    },
    toolchains = [_TOOLCHAIN],
)

def _compiled_python_impl(ctx):
    files = depset(transitive = [dep[_Compiled].files for dep in ctx.attr.deps])
    return [DefaultInfo(runfiles = ctx.runfiles(transitive_files = files))]

compiled_python = rule(
    implementation = _compiled_python_impl,
    doc = "The modules of `deps` and theirs, compiled, where Python looks for them: as `data`.",
    attrs = {"deps": attr.label_list(aspects = [_compile_aspect])},
)
