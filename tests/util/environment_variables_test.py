"""Names of environment variables."""

import re

import pytest

from compiler_gym.errors.nearest_names import UnknownNameError
from compiler_gym.util.environment_variables import KNOWN, check_names
from compiler_gym.util.runfiles_path import runfiles_path


def test_all_that_the_package_reads_are_known():
    text = "".join(path.read_text() for path in sorted(runfiles_path("compiler_gym").rglob("*.py")))
    read = {*re.findall(r'"(COMPILER_GYM_[A-Z0-9_]+)"', text)} - {"COMPILER_GYM_ENVS"}
    assert len(read) > 10 and read <= KNOWN


def test_others_are_errors_with_a_suggestion():
    check_names(["PATH", "COMPILER_GYM_CACHE", "_COMPILER_GYM_COMPLETE"])
    # The suite runs commands with these.
    check_names(["COMPILER_GYM_LONG_TESTS", "COMPILER_GYM_FUZZ_SEED"])
    with pytest.raises(UnknownNameError, match="COMPILER_GYM_BUDGET"):
        check_names(["COMPILER_GYM_BUGDET"])
