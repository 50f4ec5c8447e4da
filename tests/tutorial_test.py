"""Replays the session of docs/start/tutorial.md and compares the output."""

import doctest
import os
import re
import subprocess
import sys

from tests.document_code import code_blocks

# Three dots stand for any text.
MASKS = doctest.ELLIPSIS

# The programs that the wheel and a virtual environment have.
PROGRAMS = 'python() { "$PYTHON" "$@"; }; compiler-gym() { "$PYTHON" -m compiler_gym "$@"; }'


def session() -> list[tuple[str, str]]:
    """Each command of the shell, and what comes after it until the next."""
    text = "".join(code_blocks("docs/start/tutorial.md", "console"))
    parts = re.split(r"^\$ (.*)\n", text, flags=re.M)
    assert parts[0] == ""
    return list(zip(parts[1::2], parts[2::2], strict=True))


def play_python(record: str) -> int:
    """Types what is after the prompts of Python, compares, and returns how much that was."""
    test = doctest.DocTestParser().get_doctest(record, {}, "tutorial", "docs/start/tutorial.md", 0)
    assert test.examples.pop().source == "exit()\n"
    results = doctest.DocTestRunner(optionflags=MASKS | doctest.REPORT_NDIFF).run(test)
    assert results.failed == 0, "The output above says what has come instead"
    return results.attempted


def test_session(tmp_path, monkeypatch):
    for name in ("SITE_DATA", "CACHE", "TRANSIENT_CACHE", "LOGS"):
        monkeypatch.setenv(f"COMPILER_GYM_{name}", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    commands = session()
    assert [command for command, _ in commands].count("python") == 1
    for command, expected in commands:
        if command == "python":
            assert play_python(expected) > 35
            continue
        done = subprocess.run(
            ["bash", "-c", f"{PROGRAMS}; {command}"], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if not doctest.OutputChecker().check_output(expected, done.stdout, MASKS):
            assert done.stdout == expected, command
