"""Checks that an object file behaves as its source does."""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.validation import ProgramValidator
from compiler_gym.util.commands import run_command

Check = Callable[[Path], str]
"""Takes the path of an object file. Returns what is wrong with it, nothing if it is right."""

CHECK_SECONDS = 600
_MAX_CHARACTERS = 500


def all_of(checks: Sequence[Check]) -> Check:
    """Returns a check that makes several checks in order, and passes if all pass."""

    def check(path: Path) -> str:
        return next(filter(None, (each(path) for each in checks)), "")

    return check


def command_check(command: str) -> Check:
    """Returns a check by a shell command, which passes with exit code 0.

    Args:
        command: The command. ``{}`` stands for the path of the object file, which is also in the
            environment variable ``OBJECT``. Commands run in the current folder, one at a time,
            with a time limit of 10 minutes.
    """

    def check(path: Path) -> str:
        text = command.replace("{}", shlex.quote(str(path)))
        environment = {**tools.command_environment(), "OBJECT": str(path)}
        try:
            done = run_command(["/bin/sh", "-c", text], CHECK_SECONDS, env=environment, check=False)
        except subprocess.TimeoutExpired:
            return f"it takes more than {CHECK_SECONDS} s"
        if done.returncode == 0:
            return ""
        said = (done.stderr or done.stdout).strip()[-_MAX_CHARACTERS:]
        said = said.replace(str(path), "{}")  # Hides the temporary file.
        return f"exit code {done.returncode}" + (f": {said}" if said else "")

    return check


def program_check(validator: ProgramValidator) -> Check:
    """Returns a check that links a program, runs it, and compares its output."""

    def check(path: Path) -> str:
        return "; ".join(str(error) for error in validator.errors_of(path))

    return check
