"""From an exception of a session to the status of the request."""

import os
import traceback
from types import TracebackType

from compiler_gym.errors import ServiceError, ServiceOSError

#: In place of a status: memory was lacking. ``COMPILER_GYM_OUT_OF_MEMORY`` of the C interface.
OUT_OF_MEMORY = -1

# Numbers of gRPC, which takes long to import.
_INVALID_ARGUMENT = 3
_DEADLINE_EXCEEDED = 4
_NOT_FOUND = 5
_RESOURCE_EXHAUSTED = 8
_FAILED_PRECONDITION = 9
_UNIMPLEMENTED = 12
_INTERNAL = 13

# The first that fits. What clients raise for the status is of the same kind.
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

# Where a text is longer, its middle is left out: it travels with the status of an RPC.
_MAX_CHARACTERS = 4000

_FOLDER = os.path.dirname(__file__)


class WrongResultError(Exception):
    """A method of a session returned what it must not return."""


def status_of(error: BaseException) -> tuple[int, bytes]:
    """Returns the number of the gRPC status for an exception, or :data:`OUT_OF_MEMORY`, and a text.

    The first line of the text is what the exception says, and below it is where it was raised.
    """
    code = next((code for kind, code in _CODES if isinstance(error, kind)), _INTERNAL)
    try:
        return code, _describe(error, code).encode(errors="backslashreplace")
    except Exception as failure:  # Texts of exceptions are code of the session, too.
        return code, f"{type(error).__name__}, which cannot be printed: {failure!r}".encode()


def _describe(error: BaseException, code: int) -> str:
    if isinstance(error, ServiceError | WrongResultError):
        return str(error)  # Made for this.
    summary = str(error)
    if code == _INTERNAL or isinstance(error, KeyError):  # Whose text is the key alone.
        summary = f"{type(error).__name__}: {error}"
    where = traceback.format_exception(type(error), error, _session_frames(error))
    text = summary + "\n" + "".join(where).rstrip()
    if len(text) <= _MAX_CHARACTERS:
        return text
    half = _MAX_CHARACTERS // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"


def _session_frames(error: BaseException) -> TracebackType | None:
    """The frames of an exception without those of this package, which say nothing about it."""
    frames = error.__traceback__
    while frames and os.path.dirname(frames.tb_frame.f_code.co_filename) == _FOLDER:
        frames = frames.tb_next
    return frames
