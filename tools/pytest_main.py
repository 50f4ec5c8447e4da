"""Runs pytest on the files given, as the main program of every pytest_test."""

import gc
import os
import sys

import pytest
from _pytest import runner

if __name__ == "__main__":
    # Tests leave the user's files alone; the sandbox of Bazel lets them write nowhere else anyway.
    for variable in ["COMPILER_GYM_SITE_DATA", "COMPILER_GYM_CACHE", "COMPILER_GYM_LOGS"]:
        os.environ.setdefault(variable, os.path.join(os.environ["TEST_TMPDIR"], variable.lower()))
    # Bazel runs as many tests as there are processors. Threads of each would wait for each other:
    # to train a small model of scikit-learn takes ten times the processor time with them.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # pytest sets PYTEST_CURRENT_TEST. Programs that are kept for further runs, such as clang, are
    # started anew when the environment changes: see compiler_gym/util/started_programs.py.
    runner._update_current_test_var = lambda item, when: None
    options = [
        "--tb=short",
        "--strict-markers",
        "-p",
        "no:cacheprovider",
        # Plugins of libraries, which no test uses.
        "-p",
        "no:anyio",
        "-p",
        "no:platformdirs",
        "--import-mode=importlib",
    ]
    if "XML_OUTPUT_FILE" in os.environ:  # Set by Bazel; holds one result for each test function.
        options.append(f"--junitxml={os.environ['XML_OUTPUT_FILE']}")
    code = pytest.main(options + sys.argv[1:])
    # The interpreter would look for garbage in all libraries before it ends.
    gc.freeze()
    sys.exit(code)
