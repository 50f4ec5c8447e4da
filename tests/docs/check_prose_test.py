"""The check of plain English finds what it should, and nothing else."""

import subprocess
import sys

import pytest

from compiler_gym.util.runfiles_path import runfiles_path

LONG = " ".join(["word"] * 31)


@pytest.fixture
def check(tmp_path):
    def check(name, text):
        (tmp_path / name).write_text(text)
        program = [sys.executable, runfiles_path("tools/check_prose.py"), tmp_path / name]
        done = subprocess.run(program, capture_output=True, text=True, timeout=250)
        assert done.stderr == ""
        assert done.returncode == bool(done.stdout)
        return [line.partition(f"{name}:")[2] for line in done.stdout.splitlines()]

    return check


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# How it works\n", "1: a heading opens with 'How'"),
        ("Text.\n\n## What it is\n", "3: a heading opens with 'What'"),
        (f"One.\n\n{LONG}.\n", "3: 31 words in a sentence"),
        (f"- {LONG}.\n", "1: 31 words in a sentence"),
        ("It is made anew.\n", "1: 'anew'"),
    ],
)
def test_documents(check, text, found):
    (line,) = check("page.md", text)
    assert line.startswith(found)


def test_good_documents(check):
    text = f"# Cost of a step\n\nShort. `{LONG}` is code.\n\n```text\n{LONG}\n# How\n```\n"
    assert check("page.md", text) == []


def test_python(check):
    functions = 'def f():\n    """Returns it."""\n\n\ndef g():\n    """What is."""\n'
    code = f'"""How it works."""\n\n\n{functions}'
    assert [line[:2] for line in check("module.py", code)] == ["1:", "8:"]


def test_cpp(check):
    assert len(check("File.h", "// What it is.\nint x;\n")) == 1
    assert check("File.cc", "// A number.\nint x;  // What it is.\n") == []
