"""The rule for libraries that foreign programs load, and for programs that start them."""

# The options that .bazelrc adds for sanitizers.
_PREFIXES = ["-fsanitize=", "-DCOMPILER_GYM_SANITIZER", "-DCOMPILER_GYM_THREAD_SANITIZER"]
_OPTIONS = ["//command_line_option:copt", "//command_line_option:linkopt"]

def _without_sanitizers_impl(settings, _attributes):
    return {
        option: [
            value
            for value in settings[option]
            if not any([value.startswith(prefix) for prefix in _PREFIXES])
        ]
        for option in _OPTIONS
    }

# A program without a sanitizer cannot load a library with one.
_without_sanitizers = transition(
    implementation = _without_sanitizers_impl,
    inputs = _OPTIONS,
    outputs = _OPTIONS,
)

def _unsanitized_impl(context):
    copy = context.actions.declare_file(context.attr.name)
    context.actions.symlink(output = copy, target_file = context.files.library[0])
    return [DefaultInfo(files = depset([copy]), runfiles = context.runfiles([copy]))]

unsanitized = rule(
    implementation = _unsanitized_impl,
    doc = "A library or program without sanitizers, also where everything else has some.",
    attrs = {
        "library": attr.label(mandatory = True, cfg = _without_sanitizers),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
