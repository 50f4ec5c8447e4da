"""Spelling for terminals."""

import shlex
from pathlib import Path

import pytest

from compiler_gym.util.shell_format import (
    describe_error,
    join_cmd,
    percent,
    percent_saved,
    plural,
)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0, "step"), "0 steps"),
        ((1, "step"), "1 step"),
        ((2, "step"), "2 steps"),
        ((1234, "entry", "entries"), "1,234 entries"),
        ((1.5, "second"), "1.5 seconds"),
    ],
)
def test_plural(arguments, text):
    assert plural(*arguments) == text


def test_percent():
    assert (percent(0.12345), percent(1.5, 1), percent(None)) == ("12.35%", "150.0%", "")
    assert (percent_saved(200, 150), percent_saved(0, 0)) == ("25.00%", "")


def test_join_cmd():
    command = ["clang", "-DX=a b", Path("/x/y.c"), "it's", 3]
    assert shlex.split(join_cmd(command)) == [str(word) for word in command]
    assert join_cmd(["ls", "-l"]) == "ls -l"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (
            FileNotFoundError(2, "No such file or directory", "a.c"),
            "a.c: No such file or directory",
        ),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "invalid start byte"),
        (KeyError("no such name"), "no such name"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_error(error, text):
    assert describe_error(error).endswith(text)
