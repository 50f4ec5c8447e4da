"""What is printed is written at once.

A process that crashes does not write its buffers, and one that is copied has them twice. As with
the streams of C++, there are no errors: the log of a session has an end.
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
