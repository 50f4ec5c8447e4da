"""Turns a class of sessions into a service program."""

import ctypes
import inspect
import os
import signal
import sys
from typing import NoReturn

from compiler_gym.service.compilation_session import CompilationSession, check_session_class
from compiler_gym.service.runtime.foreign_calls import ForeignCalls, load_runtime
from compiler_gym.service.runtime.unbuffered import write_at_once


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
