"""The code in the documents of the repository, to be run as a reader would run it."""

import functools
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from compiler_gym.util.runfiles_path import runfiles_path
from tests.prepared import PreparedInterpreter

_GYM_NOTICE = re.compile(r"^Gym has been unmaintained .*?/migration_guide/[^\n]*", re.S)
# Under absl, e.g. about the folder of a program that was killed, which another test may leave.
_INFORMATION = re.compile(r"^I\d{4} [^\n]*$", re.M)


def code_blocks(document: str, language: str) -> list[str]:
    """Returns the fenced code blocks of a language in a document at the root of the repository."""
    text = runfiles_path(document).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def blocks_of_pages(pages: Iterable[Path]) -> list[object]:
    """Returns the Python of pages as parameters of a test."""
    return [
        pytest.param(block, id=f"{page.name}-{number}")
        for page in sorted(pages)
        for number, block in enumerate(
            code_blocks(str(page.relative_to(runfiles_path())), "python")
        )
    ]


def block_with(text: str, blocks: list[str]) -> str:
    """Returns the one of the blocks that holds a text."""
    (block,) = (block for block in blocks if text in block)
    return block


@functools.cache
def _interpreter(path: str) -> PreparedInterpreter:
    """Returns an interpreter that has loaded the libraries, to be copied for each run."""
    return PreparedInterpreter(PYTHONPATH=path)


def run_python(code: str, folder: Path) -> str:
    """Runs code in a new interpreter in a folder, and returns what it prints.

    Anything written to the standard error stream fails the test, so that readers do not meet
    warnings either; except for what gym 0.26 says there about itself, and information.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"}
    done = _interpreter(environment["PYTHONPATH"]).run_code(code, folder, environment)
    assert done.returncode == 0, done.stderr
    said = _GYM_NOTICE.sub("", _INFORMATION.sub("", done.stderr).strip()).strip()
    assert said == "", said
    return done.stdout
