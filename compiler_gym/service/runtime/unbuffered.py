"""Unbuffered stdout and stderr.

A crash loses buffered output, and a fork duplicates it. Like C++ streams, these streams raise no
errors: the log of a session has limited room.
"""

import contextlib
import io
import sys
from typing import Any, TextIO


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
