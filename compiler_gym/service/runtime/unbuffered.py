"""Unbuffered stdout and stderr.

A crash loses buffered output, and a fork duplicates it. Like C++ streams, these streams raise no
errors: the log of a session has limited room.
"""

import contextlib
import io
import sys
from typing import Any, TextIO


class _Output(io.FileIO):
    """A file that takes whatever is written to it, though there may be no room for all of it."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            super().write(data)
        return len(data)


def write_at_once() -> None:
    """Takes the buffers away from the standard output and the standard error."""
    sys.stdout = _unbuffered(sys.stdout)
    sys.stderr = _unbuffered(sys.stderr)


def _unbuffered(stream: TextIO) -> io.TextIOWrapper:
    stream.flush()
    file = _Output(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        file,  # As with `python -u`, there is no buffer in between.
        encoding=stream.encoding,
        errors="backslashreplace",
        write_through=True,
    )
