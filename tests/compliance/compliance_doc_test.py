"""The part about compliance of docs/guides/your-own-compiler.md shows what readers get."""

import re

import pytest

from compiler_gym.compliance import RULES
from compiler_gym.util.runfiles_path import runfiles_path
from tests.compliance.breakable import PROGRAM
from tests.document_code import block_with, code_blocks
from tests.processes import run_interpreter

PAGE = "docs/guides/your-own-compiler.md"
BLOCKS = code_blocks(PAGE, "(?:text|python) compliance")


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    (tmp_path / "program.txt").write_text("3")

    def run(*words, code, columns="200"):
        return run_interpreter(
            "-m", *words, code=code, cwd=tmp_path, env={"COLUMNS": columns}
        ).stdout

    return run


def test_checklist(run):
    shown = block_with("failed       fork.independent", BLOCKS)
    program = [str(PROGRAM), "--benchmark", "program.txt", "--argument=--break=fork.independent"]
    options = ["-k", "fork.independent", "-k", "crash.status", "--hang-action", "hang"]
    assert shown in run("compiler_gym.compliance", *program, *options, code=1, columns="80")


def test_file_for_pytest(run, tmp_path):
    text = block_with("compliance.testing import *", BLOCKS)
    assert "my_service.py" in text
    # Without its name, a check waits five seconds for the action that hangs.
    text = text.replace('("program.txt")]', '("program.txt")], hang_action="hang"')
    (tmp_path / "service_test.py").write_text(text.replace("my_service.py", str(PROGRAM)))
    assert "1 passed" in run(*PYTEST, "-k", "fork and exact", code=0)


def test_rules_and_themes():
    shown = block_with("def empty", BLOCKS)
    assert shown in runfiles_path("compiler_gym/compliance/rules/steps.py").read_text()
    named = set(re.findall(r"`([a-z]+)\.\*`", runfiles_path(PAGE).read_text()))
    assert named == {rule.theme for rule in RULES}


FILE = """
import pytest
from compiler_gym.compliance.testing import *
from tests.compliance.breakable import breakable

@pytest.fixture(scope="session")
def compliance_target():
    return breakable("fork.exact", crash_action=None)
"""


PYTEST = ["pytest", "-rs", "-p", "no:cacheprovider"]


def test_rules_are_tests(run, tmp_path):
    (tmp_path / "service_test.py").write_text(FILE)
    text = run(*PYTEST, "-k", "exact or fork and number or status", code=1)
    assert "1 failed, 1 passed, 1 skipped" in text
    assert "test_rule[fork.exact]" in text
    assert "Found:  the observations of a fork differ\nChange: Copy the whole program" in text
    assert "no action is known that does so: name one with --crash-action" in text
    assert "Traceback" not in text


def test_without_a_target(run, tmp_path):
    (tmp_path / "service_test.py").write_text("from compiler_gym.compliance.testing import *\n")
    assert "compliance_target" in run(*PYTEST, "-k", "fork and exact", code=1)
