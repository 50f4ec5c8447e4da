"""The part about compliance of docs/guides/your-own-compiler.md shows what readers get."""

import os
import re
import subprocess
import sys

import pytest

from compiler_gym.compliance import RULES
from compiler_gym.util.runfiles_path import runfiles_path
from tests.compliance.breakable import PROGRAM
from tests.document_code import block_with, code_blocks

PAGE = "docs/guides/your-own-compiler.md"
BLOCKS = code_blocks(PAGE, "(?:text|python) compliance")


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    (tmp_path / "program.txt").write_text("3")

    def run(*arguments, code):
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80"},
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def test_checklist(run):
    shown = block_with("failed       fork.independent", BLOCKS)
    program = [str(PROGRAM), "--benchmark", "program.txt", "--argument=--break=fork.independent"]
    options = ["-k", "fork.independent", "-k", "crash.status"]
    assert shown in run("compiler_gym.compliance", *program, *options, code=1)


def test_file_for_pytest(run, tmp_path):
    text = block_with("compliance.testing import *", BLOCKS)
    assert "my_service.py" in text
    (tmp_path / "service_test.py").write_text(text.replace("my_service.py", str(PROGRAM)))
    options = ["-p", "no:cacheprovider", "-k", "fork and exact"]
    assert "1 passed" in run("pytest", *options, "service_test.py", code=0)


def test_rule():
    shown = block_with("def empty", BLOCKS)
    assert shown in runfiles_path("compiler_gym/compliance/rules/steps.py").read_text()


def test_all_themes_are_named():
    named = set(re.findall(r"`([a-z]+)\.\*`", runfiles_path(PAGE).read_text()))
    assert named == {rule.theme for rule in RULES}
