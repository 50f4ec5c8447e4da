"""Ctrl-C while a program starts. This module imports little, because imports take time."""

import os
import signal
from types import FrameType

INTERRUPTED = 130  # The exit code that shells report for a program ended by Ctrl-C.


def end_on_interrupt() -> None:
    """Makes Ctrl-C end the program at once. No child process has been started yet."""
    signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt, the default of Python."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Makes Ctrl-C do nothing, because the program is ending and cleaning up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
