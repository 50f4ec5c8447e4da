"""The rule for passes of one's own."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//tools:unsanitized.bzl", "unsanitized")

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
    unsanitized(
        name = name + ".so",
        library = name + "-library.so",
        testonly = testonly,
        visibility = visibility,
    )
