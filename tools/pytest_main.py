"""Runs pytest on the files given, as the main program of every pytest_test."""

import os
import sys

import pytest

if __name__ == "__main__":
    options = [
        "--tb=short",
        "--strict-markers",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
    ]
    if "XML_OUTPUT_FILE" in os.environ:  # Set by Bazel; holds one result for each test function.
        options.append(f"--junitxml={os.environ['XML_OUTPUT_FILE']}")
    sys.exit(pytest.main(options + sys.argv[1:]))
