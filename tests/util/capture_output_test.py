"""Collecting what is printed."""

import sys

import pytest

from compiler_gym.util.capture_output import capture_output


def test_capture(capsys):
    with capture_output() as output:
        print("one")
        assert output.stdout == "one\n"
        print("two", file=sys.stderr)
    print("three")
    assert (output.stdout, output.stderr) == ("one\n", "two\n")
    assert capsys.readouterr() == ("three\n", "")


def test_streams_are_restored_after_an_error():
    stdout, stderr = sys.stdout, sys.stderr
    with pytest.raises(KeyError), capture_output() as output:
        print("one")
        raise KeyError
    assert output.stdout == "one\n"
    assert (sys.stdout, sys.stderr) == (stdout, stderr)
