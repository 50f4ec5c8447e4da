"""The rules as tests for pytest."""

import os
import subprocess
import sys

FILE = """
import pytest
from compiler_gym.compliance.testing import *
from tests.compliance.breakable import breakable

@pytest.fixture(scope="session")
def compliance_target():
    return breakable("fork.exact", crash_action=None)
"""


def run_pytest(tmp_path, text: str) -> str:
    (tmp_path / "my_service_test.py").write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-rs",
            "-p",
            "no:cacheprovider",
            "-k",
            "exact or fork and number or status",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stdout
    return done.stdout


def test_rules_are_tests(tmp_path):
    text = run_pytest(tmp_path, FILE)
    assert "1 failed, 1 passed, 1 skipped" in text
    assert "test_rule[fork.exact]" in text
    assert "Found:  the observations of a fork differ\nChange: Copy the whole program" in text
    assert "no action is known that does so: name one with --crash-action" in text
    assert "Traceback" not in text


def test_without_a_target(tmp_path):
    text = run_pytest(tmp_path, "from compiler_gym.compliance.testing import *\n")
    assert "Define a fixture compliance_target" in text
