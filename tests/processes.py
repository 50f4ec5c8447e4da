"""Information about processes of the system, and new interpreters of Python."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from compiler_gym.service.process.child_process import children, descendants

__all__ = [
    "children",
    "command_lines",
    "descendants",
    "is_asleep",
    "is_running",
    "kill_all",
    "python_environment",
    "run_interpreter",
    "wait_until",
]

# Busy machines take their time. Only failures come to this limit.
_MAX_SECONDS = 300


def is_running(pid: int) -> bool:
    """Returns true if a process exists and has not ended: it cannot be waited for yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        # The main thread of a killed process may be a zombie before the other threads have ended.
        return state != "Z" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_asleep(pid: int) -> bool:
    """Returns true if the main thread of a process waits for something."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def kill_all(pids: Iterable[int]) -> None:
    """Kills processes. Some of them may have ended by themselves."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def command_lines(pids: Iterable[int]) -> list[str]:
    """The command lines of those processes that still run."""
    found = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
    return found


def python_environment(**more: str) -> dict[str, str]:
    """The environment of a Python program that imports what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


def run_interpreter(
    *words: object,
    code: int | None = 0,
    env: dict[str, str] | None = None,
    timeout: float = 280,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Runs a new interpreter, which finds the modules that this one finds.

    Args:
        words: Its arguments.
        code: The exit code that it must have; None for any.
        env: Further environment variables.
        timeout: The time limit in seconds.
        options: Those of subprocess.run().
    """
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env=python_environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,
    )
    assert code in (None, done.returncode), done.stdout + done.stderr
    return done


def wait_until(condition: Callable[[], object]) -> None:
    """Awaits a condition; fails if it does not come true."""
    end = time.monotonic() + _MAX_SECONDS
    while not condition():
        assert time.monotonic() < end, f"It takes more than {_MAX_SECONDS} seconds"
        time.sleep(0.005)
