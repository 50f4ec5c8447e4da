"""Turns a class of sessions into a service program."""

import contextlib
import ctypes
import inspect
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.service.compilation_session import CompilationSession, check_session_class
from compiler_gym.service.runtime import hosted_sessions
from compiler_gym.service.runtime.hosted_sessions import HostedSessions
from compiler_gym.util.runfiles_path import find_service_file

# Python bindings of the runtime's C interface, ``foreign/ForeignInterface.h``.

Handler = Callable[[int, bytes, bytes], bytes | None]

_LIBRARY = "libcompiler_gym_runtime.so"
_PACKAGE = "compiler_gym/service/runtime/foreign"

# int32_t (method, session, first, its size, second, its size, reply)
_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
)


def load_runtime() -> ctypes.CDLL:
    """Loads the shared library of the runtime.

    Raises:
        EnvironmentNotSupported: If it has not been built, or lacks a library that it needs.
    """
    path = find_service_file(_LIBRARY, _PACKAGE)
    if path is None:
        raise EnvironmentNotSupported(
            f"The runtime for services in Python has not been built. Run `bazel build "
            f"//{_PACKAGE}:{_LIBRARY}` in the source tree of CompilerGym, or install a wheel"
        )
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise EnvironmentNotSupported(
            f"The runtime for services in Python cannot be loaded: {error}. It needs the packages "
            "libgrpc++1.51, libgoogle-glog0v6 and libboost-filesystem1.74.0 of Debian"
        ) from error
    library.compiler_gym_reply.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.compiler_gym_reply.restype = None
    library.compiler_gym_before_command.argtypes = []
    library.compiler_gym_before_command.restype = None
    library.compiler_gym_run_service.argtypes = [
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.c_char_p,
        _FUNCTION,
        ctypes.c_uint64,
    ]
    return library


# The methods of HostedSessions, by the numbers of enum CompilerGymMethod.
_METHODS = {
    0: "version",
    1: "spaces",
    2: "create",
    3: "init",
    5: "forkable",
    6: "after_fork",
    7: "begin_step",
    8: "apply_action",
    9: "get_observation",
    10: "end_of_step",
    11: "handle_session_parameter",
    12: "save_reproducer",
    13: "holds_only_memory",
    14: "destroy",
    15: "after_reply",
}

# Methods whose failures go to the log, because nothing waits for their results.
_NOT_REPORTED = {"forkable", "holds_only_memory"}

# Methods that the runtime calls only if the class overrides them.
_OPTIONAL = {
    "forkable",
    "begin_step",
    "end_of_step",
    "after_reply",
    "handle_session_parameter",
    "save_reproducer",
    "holds_only_memory",
}


class ForeignCalls:
    """The functions that the C++ runtime calls for a class of sessions.

    Args:
        session_type: The class.
        runtime: The library.

    Attributes:
        function: The function for the runtime. Keep it alive as long as the runtime uses it.
        methods: The bits of the optional methods that the class overrides.
    """

    def __init__(self, session_type: type[CompilationSession], runtime: ctypes.CDLL):
        sessions = HostedSessions(session_type, runtime.compiler_gym_before_command)
        self.methods = sum(
            1 << number
            for number, name in _METHODS.items()
            if name in _OPTIONAL
            and getattr(session_type, name) is not getattr(CompilationSession, name)
        )
        handlers = {number: getattr(sessions, name) for number, name in _METHODS.items()}
        self.function = _FUNCTION(_dispatcher(handlers, runtime.compiler_gym_reply))


def _dispatcher(handlers: dict[int, Handler], give: Callable[..., None]) -> Callable[..., int]:
    string_at = ctypes.string_at

    def call(
        method: int,
        session: int,
        first: int,
        first_size: int,
        second: int,
        second_size: int,
        reply: int,
    ) -> int:
        # No exception may escape: ctypes would report success.
        try:
            result = handlers[method](
                session, string_at(first, first_size), string_at(second, second_size)
            )
            if result:
                give(reply, result, len(result))
            return 0
        except BaseException as error:
            code, text = hosted_sessions.status_of(error)
            if _METHODS[method] in _NOT_REPORTED:
                print(text.decode(), file=sys.stderr)
            give(reply, text, len(text))
            return code

    return call


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
