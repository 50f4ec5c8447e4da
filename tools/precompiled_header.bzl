"""The rule that compiles headers once for many sources.

Headers of LLVM and gRPC take most of the time of a C++ compilation. With a precompiled header that
has their templates instantiated too, a source of llvm_service takes a third of the time.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@llvm//:compiler.bzl", "IS_CLANG")

# The options of .bazelrc for the code of tests.
TEST_COPTS = [
    "-O0",
    "-U_FORTIFY_SOURCE",
]

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = deps.compilation_context
    cpp = ctx.fragments.cpp
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = cpp.copts + cpp.cxxopts + ctx.attr.copts,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
        use_pic = True,
    )
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )
    output = ctx.actions.declare_file(ctx.label.name + ".pch")
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
        ),
        arguments = options + [
            "-Xclang",
            "-fno-pch-timestamp",
            "-Xclang",
            "-fpch-instantiate-templates",
            "-x",
            "c++-header",
            ctx.file.header.path,
            "-o",
            output.path,
        ],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        inputs = depset([ctx.file.header], transitive = [context.headers, toolchain.all_files]),
        # It has the absolute paths of the headers, which are others in a sandbox or in another clone.
        execution_requirements = {"no-cache": "1", "no-sandbox": "1"},
        mnemonic = "PrecompiledHeader",
        outputs = [output],
        progress_message = "Precompiling %s" % ctx.file.header.short_path,
    )
    return [
        DefaultInfo(files = depset([output])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            # The compiler looks at the headers again.
            headers = depset([output, ctx.file.header], transitive = [context.headers]),
        )),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "A precompiled header NAME.pch, for clang. with_precompiled_header() uses it.",
    attrs = {
        "copts": attr.string_list(doc = "Options of all sources that use it, besides the common ones."),
        "deps": attr.label_list(
            doc = "The libraries whose headers it includes.",
            providers = [CcInfo],
        ),
        "header": attr.label(
            allow_single_file = [".h"],
            doc = "Includes the headers to be compiled.",
            mandatory = True,
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def with_precompiled_header(label, kwargs):
    """The arguments of a C++ rule whose sources use a precompiled header.

    Args:
      label: of the header. With another compiler than clang it is left out.
      kwargs: the other arguments of the rule.

    Returns:
      All arguments.
    """
    if not IS_CLANG:
        return kwargs
    kwargs["copts"] = kwargs.get("copts", []) + ["-include-pch", "$(location %s)" % label]
    kwargs["deps"] = kwargs.get("deps", []) + [label]
    return kwargs
