"""Ctrl-C while Python or a program starts. This module imports little: imports take time."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130  # The exit code that shells report for a program ended by Ctrl-C.

# SIGTERM is the one of kill, timeout, and of jobs that are cancelled.
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def end_on_interrupt() -> None:
    """Makes Ctrl-C end the program at once. No child process has been started yet."""
    signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """Makes Ctrl-C and SIGTERM raise KeyboardInterrupt, so that the program cleans up."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Makes Ctrl-C and SIGTERM do nothing, because the program is ending and cleaning up."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


# Handling of Ctrl-C while Python imports the package for one of its programs.
#
# The package imports this module first.

_SCRIPTS = ("compiler-gym", "compiler-gym-cc", "compiler-gym-c++")


def _is_program_of_ours() -> bool:
    words = sys.orig_argv
    # This is the case while Python imports the package of a module to run.
    if sys.argv[:1] == ["-m"]:
        module = "".join(words[words.index("-m") + 1 :][:1]) if "-m" in words else ""
        programs = ("compiler_gym", "compiler_gym.compliance")
        return module in programs or module.startswith("compiler_gym.bin.")
    # Child processes of multiprocessing have the parent's arguments, which are not theirs.
    script = sys.argv[0] if sys.argv else ""
    return os.path.basename(script) in _SCRIPTS and script in words


if _is_program_of_ours():
    end_on_interrupt()
