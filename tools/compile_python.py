"""Compiles a Python module: ``compile_python.py SOURCE COMPILED``.

The result does not depend on the time of the source, and Python does not check whether the source
has changed: Bazel does.
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
