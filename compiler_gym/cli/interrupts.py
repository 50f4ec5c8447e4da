"""Ctrl-C while a program starts. Little is imported here, as that is what takes the time."""

import os
import signal
from types import FrameType

INTERRUPTED = 130  # As shells say it of a program that was ended by Ctrl-C.


def end_on_interrupt() -> None:
    """From now on, Ctrl-C ends the program at once: nothing has been started that would be left."""
    signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """From now on, Ctrl-C raises KeyboardInterrupt, as it usually does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """From now on, Ctrl-C does nothing: the program ends anyhow, and cleans up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
