"""Turns a class of sessions into a service program."""

import contextlib
import ctypes
import inspect
import io
import os
import signal
import sys
from typing import Any, NoReturn, TextIO

from compiler_gym.service.compilation_session import CompilationSession, check_session_class
from compiler_gym.service.runtime.foreign_calls import ForeignCalls, load_runtime

# Unbuffered stdout and stderr.
#
# A crash loses buffered output, and a fork duplicates it. Like C++ streams, these streams raise no
# errors: the log of a session has limited room.


class _Output(io.FileIO):
    """A file that accepts every write, even if there is no room for it."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            super().write(data)
        return len(data)


def write_at_once() -> None:
    """Makes stdout and stderr unbuffered."""
    sys.stdout = _unbuffered(sys.stdout)
    sys.stderr = _unbuffered(sys.stderr)


def _unbuffered(stream: TextIO) -> io.TextIOWrapper:
    stream.flush()
    file = _Output(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        file,  # There is no buffer in between, as with `python -u`.
        encoding=stream.encoding,
        errors="backslashreplace",
        write_through=True,
    )


def create_and_run_compiler_gym_service(session_type: type[CompilationSession]) -> NoReturn:
    """Runs a service for sessions of a class until the process receives SIGTERM or SIGINT.

    It is the last line of a service program. The flags are those of every service: ``--help``
    prints them, below the description of the class. Call it from the main thread, before any
    other thread is started.

    Args:
        session_type: A subclass of :class:`compiler_gym.service.CompilationSession`.

    Raises:
        TypeError: If it is not a subclass, or its spaces have another type.
        ValueError: If it has no spaces, or two with the same name.
        EnvironmentNotSupported: If the shared library of the runtime has not been built.
        SystemExit: Always. The exit code is 0 if the service was shut down after all sessions had
            ended, 1 if it could not start, and 6 if it was shut down with open sessions.
    """
    check_session_class(session_type)
    runtime = load_runtime()
    calls = ForeignCalls(session_type, runtime)
    write_at_once()
    # Python's own handler would wait for a call that returns only when the service ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Log files have the same name.
    arguments = [os.fsencode(text) for text in (sys.argv[0].removesuffix(".py"), *sys.argv[1:])]
    argv = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
    usage = inspect.getdoc(session_type) or session_type.__name__
    code = runtime.compiler_gym_run_service(
        len(arguments), argv, usage.encode(), calls.function, calls.methods
    )
    sys.exit(code)
