"""The rule that builds plugins with passes."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//tools:unsanitized.bzl", "unsanitized")

def _without_llvm_impl(ctx):
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    inputs = [
        input
        for input in deps.linking_context.linker_inputs.to_list()
        if input.owner.workspace_name != "llvm"
    ]
    return CcInfo(
        compilation_context = deps.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(inputs, order = "topological"),
        ),
    )

_without_llvm = rule(
    implementation = _without_llvm_impl,
    doc = "Libraries, and the headers of LLVM, but not the flags that link LLVM itself.",
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def llvm_pass_plugin(name, srcs, deps = [], copts = [], testonly = None, visibility = None, **kwargs):
    """A plugin NAME.so with passes, for the LLVM that the service is built with.

    It can be given to `opt -load-pass-plugin=`, to the service with `--load-pass-plugin=`, and to
    `compiler_gym.make(..., pass_plugins=[...])`.

    The plugin is not linked with LLVM. The program that loads it has LLVM's symbols already, and
    must not load LLVM a second time.

    Args:
      name: of the plugin, without the ending.
      srcs: its sources. One of them defines llvmGetPassPluginInfo().
      deps: libraries besides LLVM.
      copts: of the compiler.
      testonly: whether only tests may use it.
      visibility: of the plugin.
      **kwargs: as of cc_binary.
    """
    _without_llvm(
        name = name + "-deps",
        deps = deps + ["@llvm"],
        testonly = testonly,
        visibility = ["//visibility:private"],
    )
    cc_binary(
        name = name + "-library.so",
        srcs = srcs,
        copts = copts + ["-fPIC"],
        linkshared = True,
        linkstatic = True,
        deps = [name + "-deps"],
        testonly = testonly,
        visibility = ["//visibility:private"],
        **kwargs
    )
    unsanitized(
        name = name + ".so",
        library = name + "-library.so",
        testonly = testonly,
        visibility = visibility,
    )
