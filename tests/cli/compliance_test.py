"""``compiler-gym compliance``."""

import os
import pty
import subprocess

import pytest

from tests.cli.conftest import command
from tests.compliance.breakable import PROGRAM


@pytest.fixture(name="number")
def fixture_number(environment):
    path = environment / "number.txt"
    path.write_text("3")
    return path


def test_output_in_a_file_while_a_terminal_shows_the_progress(number):
    terminal, ours = pty.openpty()
    arguments = ["--benchmark", number, "--argument=--break=start.empty-uri"]
    try:
        done = subprocess.run(
            command("compliance", PROGRAM, *arguments, "-k", "start.empty-uri"),
            stdout=subprocess.PIPE,
            stderr=ours,
            text=True,
            timeout=120,
        )
    finally:
        os.close(terminal)
        os.close(ours)
    assert "found   StartSession without a URI answers NOT_FOUND" in done.stdout


def test_ctrl_c_cleans_up(interrupt, number):
    interrupt("compliance", PROGRAM, "--benchmark", number, "-k", "hang", "--hang-action", "hang")
