"""Builds of projects with ``compiler-gym-cc`` and ``compiler-gym-c++`` as their compilers."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.cli.wrapper_settings import SETTINGS
from compiler_gym.util.commands import Popen
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.runfiles_path import cache_path
from compiler_gym.util.shell_format import how_it_failed

_PROGRAMS = {"CC": ("compiler-gym-cc", "cc"), "CXX": ("compiler-gym-c++", "cxx")}
_MAKES = ("make", "gmake")
_PATIENCE_SECONDS = 30


@dataclass(frozen=True)
class LogLine:
    """A line of the log of ``compiler-gym-cc``."""

    kind: str
    before: str
    after: str
    evaluations: str
    seconds: str
    output: str
    note: str


def read_log(path: Path) -> list[LogLine]:
    """Returns the lines of a log; empty if it does not exist."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    return [LogLine(*line.split("\t")) for line in text.split("\n")[:-1]]


def compilers() -> dict[str, str]:
    """Returns the paths of the compilers, by the names of variables of make."""
    return {variable: str(_program(*names)) for variable, names in _PROGRAMS.items()}


def _program(name: str, function: str) -> Path:
    """Returns the path of a compiler. Build systems may store it."""
    beside = Path(sys.executable).with_name(name)
    if os.access(beside, os.X_OK):
        return beside
    path = cache_path("compilers") / name
    path.parent.mkdir(exist_ok=True)
    places = ":".join(filter(None, sys.path))
    # Modules in the built folder must not shadow ours.
    own = "import sys; sys.path.remove('')"
    code = f"{own}; from compiler_gym.cli.compiler_wrapper import {function}; {function}()"
    text = (
        f"#!/bin/sh\nPYTHONPATH={shlex.quote(places)} "
        f'exec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n'
    )
    if not path.is_file() or path.read_text() != text:
        with atomic_file_write(path, fileobj=True, mode="w", permissions=0o777) as file:
            file.write(text)
    return path


def run_build(words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Runs a build with our compilers. Its output goes to stderr.

    Args:
        words: The command. One word is a command for a shell.
        variables: Settings of our compilers. They override those of makefiles.

    Returns:
        Its exit code.

    Raises:
        FileNotFoundError: If there is no such program.
    """
    own = compilers()
    command = [*words] if len(words) > 1 else ["/bin/sh", "-c", words[0]]
    if Path(words[0]).name in _MAKES:
        # Makefiles set their own variables, which only the command line overrides.
        given = {word.partition("=")[0] for word in words}
        more = [f"{name}={shlex.quote(path)}" for name, path in own.items() if name not in given]
        command = [*words, *more]
    environment = {**os.environ, **own}
    with started(command, environment, variables) as process:
        return process.wait()


def why_check_fails(check: str, variables: Mapping[str, str]) -> str:
    """Runs the check of a build. Returns the reason for a failure; empty if it passes.

    Ctrl-C ends the check with all that it has started.

    Args:
        check: A command for a shell.
        variables: Settings of our compilers, which the check may run.
    """
    words = ["/bin/sh", "-c", check]
    with started(words, os.environ, variables, output=subprocess.PIPE) as process:
        said, _ = process.communicate()
    if process.returncode == 0:
        return ""
    return how_it_failed(process.returncode, said.decode(errors="replace"))


@contextmanager
def started(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    variables: Mapping[str, str],
    folder: Path | None = None,
    output: int | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program with our compilers. The end of the context sends Ctrl-C to it.

    Our compilers then end their commands and remove temporary files.

    Args:
        command: The program and its arguments.
        environment: Its environment variables.
        variables: Settings of our compilers. They override ``environment``.
        folder: Its working directory; by default the current one.
        output: The descriptor that it prints to, or ``subprocess.PIPE``; by default stderr.
    """
    with Popen(
        command,
        cwd=folder,
        env={**environment, SETTINGS: json.dumps(dict(variables))},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno() if output is None else output,
        stderr=None if output is None else subprocess.STDOUT,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE_SECONDS)
