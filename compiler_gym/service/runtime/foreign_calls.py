"""Python bindings of the runtime's C interface, ``foreign/ForeignInterface.h``."""

import ctypes
import sys
from collections.abc import Callable

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.service.compilation_session import CompilationSession
from compiler_gym.service.runtime import hosted_sessions
from compiler_gym.service.runtime.hosted_sessions import HostedSessions
from compiler_gym.util.runfiles_path import find_service_file

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
}

# Methods whose failures go to the log, because nothing waits for their results.
_NOT_REPORTED = {"forkable", "holds_only_memory", "destroy"}

# Methods that the runtime calls only if the class overrides them.
_OPTIONAL = {
    "forkable",
    "begin_step",
    "end_of_step",
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
