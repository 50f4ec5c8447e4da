"""Conversion of a session's exceptions to the status of the request."""

import os
import traceback
from types import TracebackType

from compiler_gym.errors import ServiceError, ServiceOSError

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
