"""Compiles a Python module: ``compile_python.py SOURCE COMPILED``.

The result does not depend on when the source was written, and Python does not look whether that
has changed: it is Bazel who knows.
"""

import py_compile
import sys

if __name__ == "__main__":
    source, compiled = sys.argv[1:]
    py_compile.compile(
        source,
        compiled,
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
