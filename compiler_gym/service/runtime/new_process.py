"""Initialisation of Python in a process that the C++ runtime has forked.

``os.fork()`` calls interpreter hooks before and after the fork. The runtime forks without
``os.fork()``, while no Python code runs and there is only one thread. So the child can call both
hooks. It is then like a child of ``os.fork()``, except that its random generators are not reseeded.
"""

import ctypes
import faulthandler
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any


class _TiedPopen(subprocess.Popen):  # type: ignore[type-arg]
    """A program that ends with the process of its session, however that ends.

    The runtime ends programs that have their own process group.
    """

    before_command: Callable[[], None]

    def __init__(self, *args: Any, **options: Any):
        self.before_command()
        if options.get("process_group") is None:
            options["start_new_session"] = True
        super().__init__(*args, **options)


def start_after_fork() -> None:
    """Tells the interpreter that this process is a copy of another."""
    random = sys.modules.get("random")
    state = random.getstate() if random else None
    ctypes.pythonapi.PyOS_BeforeFork()
    ctypes.pythonapi.PyOS_AfterFork_Child()
    if random:
        random.setstate(state)  # Python's own fork would have reset it.


def start_session_process(working_directory: str, before_command: Callable[[], None]) -> None:
    """Prepares the first process of a session, or the one that all others are copied from.

    Args:
        working_directory: The new directory for temporary files, which are removed with the
            service.
        before_command: A function to call before a program is started.
    """
    start_after_fork()
    os.environ["TMPDIR"] = working_directory
    tempfile.tempdir = None
    # A crash in a compiler prints the Python traceback, which the error of the session quotes.
    faulthandler.enable(file=sys.stderr.fileno())
    _TiedPopen.before_command = staticmethod(before_command)
    subprocess.Popen = _TiedPopen  # type: ignore[misc]
