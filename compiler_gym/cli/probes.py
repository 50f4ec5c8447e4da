"""Files that build systems compile to learn about compilers."""

import re

# Those of zlib's own configure have the number of its process.
_PROBE = re.compile(
    r"(^|/)(conftest[^/]*|CMakeTmp|CMakeScratch|CompilerId\w+|CMakeDetermineCompilerABI_\w+\.bin"
    r"|cmTC_[^/]*|meson-private|ztest\d+\.c)(/|$)"
)


def is_of_probe(path: str) -> bool:
    """Returns whether a source, or what was made of it, is no part of a project itself."""
    return _PROBE.search(path) is not None
