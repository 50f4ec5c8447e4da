"""Errors that commands print in a line, and defects, which they show with a traceback."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from compiler_gym.cli.console import is_failure, run_program
from compiler_gym.cli.options import program_file
from compiler_gym.distributed import PoolError
from compiler_gym.errors.nearest_names import UnknownNameError
from compiler_gym.spaces import Discrete, Scalar
from compiler_gym.util.held_interrupts import hold_interrupts
from compiler_gym.util.interrupts import INTERRUPTED


@pytest.fixture(autouse=True)
def handler():
    """A program ends with interrupts ignored."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, function in former.items():
        signal.signal(number, function)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupts_wait_for_the_end_of_a_block(number):
    done = []

    def main():
        with hold_interrupts():
            signal.raise_signal(number)
            done.append("block")
        done.append("more")

    assert run_program("program", main) == INTERRUPTED
    assert done == ["block"]


def fail_with(error):
    raise error


@pytest.mark.parametrize(
    "defect",
    [
        lambda: [][0],
        lambda: {}["key"],
        lambda: None + 1,
        lambda: json.dumps({1, 2}),
        lambda: Discrete(3)[0],
        lambda: fail_with(KeyError("raised elsewhere")),
        lambda: fail_with(AttributeError("no attribute")),
    ],
)
def test_defects(defect, capsys):
    with pytest.raises((LookupError, TypeError, AttributeError)) as caught:
        run_program("program", defect)
    assert not is_failure(caught.value)
    assert "program: a defect; please report it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (lambda: Scalar(dtype=str), "program: Expected a boolean"),
        (lambda: fail_with(UnknownNameError("no such name")), "program: no such name"),
        (lambda: fail_with(PoolError("no workers")), "program: no workers"),
        (lambda: fail_with(subprocess.TimeoutExpired("cc", 9)), "program: Command 'cc' timed out"),
        (lambda: open("none.c"), "program: none.c: No such file"),  # noqa: SIM115
    ],
)
def test_failures(failure, line, capsys):
    assert run_program("program", failure) == 1
    assert capsys.readouterr().err.startswith(line)


def test_file_that_a_name_stands_for(tmp_path, monkeypatch):
    """A URI has a percent sign in place of a blank."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my program.c"
    path.write_text("int x;\n")
    assert program_file(path.as_uri()) == program_file(str(path)) == path
    assert program_file(path.name) == Path(path.name)
    assert program_file("sha256") is program_file("csmith-v0/1") is None
    with pytest.raises(FileNotFoundError):
        program_file("other.c")
