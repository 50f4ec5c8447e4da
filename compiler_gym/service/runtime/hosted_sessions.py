"""The sessions of a service in Python, behind the methods of the C interface."""

import ctypes
import faulthandler
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from compiler_gym.errors import ServiceError, ServiceOSError
from compiler_gym.service.compilation_session import CompilationSession
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    Event,
    GetSpacesReply,
    SendSessionParameterReply,
    StepReply,
)

# Initialisation of Python in a process that the C++ runtime has forked.
#
# ``os.fork()`` calls interpreter hooks before and after the fork. The runtime forks without
# ``os.fork()``, while no Python code runs and there is only one thread. So the child can call both
# hooks. It is then like a child of ``os.fork()``, but its random generators are not reseeded.


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
    # Python 3.14 would print the calls of C behind it, and the error quotes what was printed last.
    more = {"c_stack": False} if sys.version_info >= (3, 14) else {}
    faulthandler.enable(file=sys.stderr.fileno(), **more)
    _TiedPopen.before_command = staticmethod(before_command)
    subprocess.Popen = _TiedPopen  # type: ignore[misc]


# Conversion of a session's exceptions to the status of the request.

#: Returned in place of a status when memory ran out. ``COMPILER_GYM_OUT_OF_MEMORY`` of the C
#: interface.
OUT_OF_MEMORY = -1

# Status numbers of gRPC, which is slow to import.
_INVALID_ARGUMENT = 3
_DEADLINE_EXCEEDED = 4
_NOT_FOUND = 5
_RESOURCE_EXHAUSTED = 8
_FAILED_PRECONDITION = 9
_UNIMPLEMENTED = 12
_INTERNAL = 13

# The first match counts. Clients raise the same kind of exception for the status.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (MemoryError, OUT_OF_MEMORY),
    (ServiceOSError, _RESOURCE_EXHAUSTED),
    (TimeoutError, _DEADLINE_EXCEEDED),
    (FileNotFoundError, _NOT_FOUND),
    (NotImplementedError, _UNIMPLEMENTED),
    (LookupError, _NOT_FOUND),
    (ValueError, _INVALID_ARGUMENT),
    (TypeError, _FAILED_PRECONDITION),
)

# The middle of a longer text is left out, because the text travels with the status of an RPC.
_MAX_CHARACTERS = 4000

_FOLDER = os.path.dirname(__file__)


class WrongResultError(Exception):
    """A method of a session returned a value of a wrong type."""


def status_of(error: BaseException) -> tuple[int, bytes]:
    """Returns the number of the gRPC status for an exception, or :data:`OUT_OF_MEMORY`, and a text.

    The first line of the text is the message of the exception. Its traceback follows.
    """
    code = next((code for kind, code in _CODES if isinstance(error, kind)), _INTERNAL)
    try:
        return code, _describe(error, code).encode(errors="backslashreplace")
    except (
        Exception
    ) as failure:  # The message of an exception is computed by code of the session, too.
        return code, f"{type(error).__name__}, which cannot be printed: {failure!r}".encode()


def _describe(error: BaseException, code: int) -> str:
    if isinstance(error, ServiceError | WrongResultError):
        return str(error)  # The exception for errors that are no bugs, so it needs no traceback.
    summary = str(error)
    if code == _INTERNAL or isinstance(error, KeyError):  # The text of a KeyError is only the key.
        summary = f"{type(error).__name__}: {error}"
    where = traceback.format_exception(type(error), error, _session_frames(error))
    text = summary + "\n" + "".join(where).rstrip()
    if len(text) <= _MAX_CHARACTERS:
        return text
    half = _MAX_CHARACTERS // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"


def _session_frames(error: BaseException) -> TracebackType | None:
    """Returns the frames of an exception, without those of this package."""
    frames = error.__traceback__
    while frames and os.path.dirname(frames.tb_frame.f_code.co_filename) == _FOLDER:
        frames = frames.tb_next
    return frames


_YES, _NO = b"\1", b"\0"


class HostedSessions:
    """The sessions of this process by number. The C++ runtime refers to sessions by these numbers.

    Every method takes this number, and the two arguments and the reply that
    ``foreign/ForeignInterface.h`` documents. Methods that :class:`CompilationSession` has too do
    the same.

    Args:
        session_type: The class of the sessions.
        before_command: A function that session processes call before they start a program.
    """

    def __init__(self, session_type: type[CompilationSession], before_command: Callable[[], None]):
        self._type = session_type
        self._action_spaces = {space.name: space for space in session_type.action_spaces}
        self._observation_spaces = {space.name: space for space in session_type.observation_spaces}
        self._working_directory = Path()
        self._sessions: dict[int, CompilationSession] = {}
        self._before_command = before_command
        self._pid = os.getpid()

    def version(self, session: int, first: bytes, second: bytes) -> bytes:
        """The version of the compiler."""
        return self._type.compiler_version.encode()

    def spaces(self, session: int, first: bytes, second: bytes) -> bytes:
        """The spaces of the class."""
        return GetSpacesReply(
            action_space_list=self._type.action_spaces,
            observation_space_list=self._type.observation_spaces,
        ).SerializeToString()

    def create(self, session: int, working_directory: bytes, second: bytes) -> None:
        """Prepares a session. :meth:`init` creates its object."""
        path = os.fsdecode(working_directory)
        self._working_directory = Path(path)
        if os.getpid() != self._pid:
            start_session_process(path, self._before_command)
            self._pid = os.getpid()

    def init(self, session: int, action_space: bytes, benchmark: bytes) -> None:
        """Calls the constructor."""
        self._sessions[session] = self._type(
            self._working_directory,
            self._action_spaces[action_space.decode()],
            Benchmark.FromString(benchmark),
        )

    def forkable(self, session: int, first: bytes, second: bytes) -> bytes:
        """Returns true if forking the process copies the session."""
        # The runtime also asks before the process has a program.
        hosted = self._sessions.get(session)
        return _YES if hosted is None or hosted.forkable() else _NO

    def after_fork(self, session: int, first: bytes, second: bytes) -> None:
        """Tells the interpreter and the session that this process is a copy."""
        start_after_fork()
        self._pid = os.getpid()
        self._sessions[session].after_fork()

    def begin_step(self, session: int, actions: bytes, second: bytes) -> None:
        """Begins a step."""
        self._sessions[session].begin_step(int.from_bytes(actions, sys.byteorder))

    def apply_action(self, session: int, action: bytes, second: bytes) -> bytes:
        """Applies an action."""
        result = self._sessions[session].apply_action(Event.FromString(action))
        if not isinstance(result, tuple) or len(result) != 3:
            wanted = "(end_of_session, new_action_space, action_had_no_effect)"
            raise self._wrong("apply_action", wanted, result)
        end, space, had_no_effect = result
        return self._step_reply("apply_action", end, space, had_no_effect)

    def get_observation(self, session: int, space: bytes, second: bytes) -> bytes:
        """Computes an observation."""
        name = space.decode()
        event = self._sessions[session].get_observation(self._observation_spaces[name])
        if not isinstance(event, Event):
            raise self._wrong(f"get_observation (of {name})", "an Event", event)
        return event.SerializeToString()

    def end_of_step(self, session: int, step: bytes, second: bytes) -> bytes:
        """Ends a step."""
        reply = StepReply.FromString(step)
        space = reply.new_action_space if reply.HasField("new_action_space") else None
        had_no_effect = reply.action_had_no_effect
        result = self._sessions[session].end_of_step(had_no_effect, reply.end_of_session, space)
        if result is None:
            return step
        if not isinstance(result, tuple) or len(result) != 2:
            raise self._wrong("end_of_step", "(end_of_session, new_action_space) or None", result)
        return self._step_reply("end_of_step", *result, had_no_effect)

    def after_reply(self, session: int, first: bytes, second: bytes) -> None:
        """Lets the session work while nobody waits."""
        # The reply may say that there is no session.
        if hosted := self._sessions.get(session):
            hosted.after_reply()

    def handle_session_parameter(self, session: int, key: bytes, value: bytes) -> bytes:
        """Handles a parameter."""
        reply = self._sessions[session].handle_session_parameter(key.decode(), value.decode())
        if reply is not None and not isinstance(reply, str):
            raise self._wrong("handle_session_parameter", "a string or None", reply)
        replies = [] if reply is None else [reply]
        return SendSessionParameterReply(reply=replies).SerializeToString()

    def save_reproducer(self, session: int, action: bytes, directory: bytes) -> None:
        """Saves a reproducer."""
        path = Path(os.fsdecode(directory))
        self._sessions[session].save_reproducer(Event.FromString(action), path)

    def holds_only_memory(self, session: int, first: bytes, second: bytes) -> bytes:
        """Returns true if there is nothing to close."""
        hosted = self._sessions.get(session)
        return _YES if hosted is None or hosted.holds_only_memory() else _NO

    def destroy(self, session: int, first: bytes, second: bytes) -> None:
        """Closes a session, unless it was opened only to read the spaces."""
        if hosted := self._sessions.pop(session, None):
            hosted.close()

    def _step_reply(self, method: str, end: Any, space: Any, had_no_effect: Any) -> bytes:
        if space is not None and not isinstance(space, ActionSpace):
            raise self._wrong(method, "an ActionSpace or None as the new action space", space)
        return StepReply(
            end_of_session=bool(end),
            new_action_space=space,
            action_had_no_effect=bool(had_no_effect),
        ).SerializeToString()

    def _wrong(self, method: str, wanted: str, result: Any) -> WrongResultError:
        place = f"{self._type.__name__}.{method}"
        text = f"{type(result).__name__}: {result!r}"
        return WrongResultError(f"{place} must return {wanted}, not {text[:100]}")
