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
    """A program that ends with the process of the session, however that ends.

    The runtime ends what has a process group of its own.
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
        random.setstate(state)  # Which a fork of Python's would have set anew.


def start_session_process(working_directory: str, before_command: Callable[[], None]) -> None:
    """Prepares the first process of a session, or the one that all others are copied from.

    Args:
        working_directory: Where temporary files go from now on, so that they end with the service.
        before_command: To be called before a program is started.
    """
    start_after_fork()
    os.environ["TMPDIR"] = working_directory
    tempfile.tempdir = None
    # A crash in a compiler prints where in Python it was; the error of the session quotes that.
    faulthandler.enable(file=sys.stderr.fileno())
    _TiedPopen.before_command = staticmethod(before_command)
    subprocess.Popen = _TiedPopen  # type: ignore[misc]
