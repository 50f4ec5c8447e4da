"""The rule for passes of one's own."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

_OPTIONS = ["//command_line_option:copt", "//command_line_option:linkopt"]

def _without_sanitizers_impl(settings, _attributes):
    return {
        option: [value for value in settings[option] if not value.startswith("-fsanitize=")]
        for option in _OPTIONS
    }

# A program like `opt`, which is built without, could not load what is built with a sanitizer.
_without_sanitizers = transition(
    implementation = _without_sanitizers_impl,
    inputs = _OPTIONS,
    outputs = _OPTIONS,
)

def _plugin_impl(context):
    plugin = context.actions.declare_file(context.attr.name)
    context.actions.symlink(output = plugin, target_file = context.files.library[0])
    return [DefaultInfo(files = depset([plugin]), runfiles = context.runfiles([plugin]))]

_plugin = rule(
    implementation = _plugin_impl,
    attrs = {
        "library": attr.label(mandatory = True, cfg = _without_sanitizers),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def llvm_pass_plugin(name, srcs, deps = [], copts = [], testonly = None, visibility = None, **kwargs):
    """A plugin NAME.so with passes, for the LLVM that the service is built with.

    It can be given to `opt -load-pass-plugin=`, to the service with `--load-pass-plugin=`, and to
    `compiler_gym.make(..., pass_plugins=[...])`.

    Args:
      name: of the plugin, without the ending.
      srcs: its sources. One of them defines llvmGetPassPluginInfo().
      deps: libraries besides LLVM.
      copts: of the compiler.
      testonly: whether only tests may use it.
      visibility: of the plugin.
      **kwargs: as of cc_binary.
    """
    cc_binary(
        name = name + "-library.so",
        srcs = srcs,
        copts = copts + ["-fPIC"],
        linkshared = True,
        linkstatic = True,
        deps = deps + ["@llvm"],
        testonly = testonly,
        visibility = ["//visibility:private"],
        **kwargs
    )
    _plugin(
        name = name + ".so",
        library = name + "-library.so",
        testonly = testonly,
        visibility = visibility,
    )
