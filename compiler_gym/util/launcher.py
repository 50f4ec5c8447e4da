"""The thread that starts programs.

It lives as long as the Python process, and Ctrl-C does not reach it. In another thread,
``KeyboardInterrupt`` may come when a program runs already and nobody knows its process yet.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

_Started = Future["subprocess.Popen[Any]"]


class _Launcher(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="compiler_gym-launcher", daemon=True)
        self.owner_pid = os.getpid()
        self.requests: queue.SimpleQueue[tuple[_Started, Callable[[], subprocess.Popen[Any]]]] = (
            queue.SimpleQueue()
        )
        self.start()

    def run(self) -> None:
        while True:
            self._serve(*self.requests.get())

    @staticmethod
    def _serve(started: _Started, start: Callable[[], subprocess.Popen[Any]]) -> None:
        try:
            started.set_result(start())
        except Exception as error:
            started.set_exception(error)


_launcher: _Launcher | None = None
_launcher_lock = threading.Lock()


def _get_launcher() -> _Launcher:
    global _launcher
    with _launcher_lock:
        # Threads do not survive a fork of this process.
        if _launcher is None or _launcher.owner_pid != os.getpid():
            _launcher = _Launcher()
        return _launcher


def launch(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """Starts a program in a session and process group of its own.

    If an exception such as Ctrl-C comes before its end, the group is killed.

    Args:
        command: The program and its arguments.
        **options: Arguments of ``subprocess.Popen``.

    Raises:
        OSError: If the program cannot be started.
    """
    started: _Started = Future()
    try:
        _get_launcher().requests.put(
            (started, lambda: subprocess.Popen(command, **options, start_new_session=True))
        )
        return started.result()
    except BaseException:
        started.add_done_callback(_kill)
        raise


def _kill(started: _Started) -> None:
    if started.exception() is None:
        process = started.result()
        kill_process_group(process)
        process.wait()


def kill_process_group(process: "subprocess.Popen[Any]") -> None:
    """Kills a program that leads a process group, and everything in that group."""
    # The group outlives its leader while it has other processes.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
