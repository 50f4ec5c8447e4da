"""Capture of printed output."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


class CapturedOutput:
    """The output captured so far.

    Attributes:
        stdout: The output to ``sys.stdout``.
        stderr: The output to ``sys.stderr``.
    """

    def __init__(self) -> None:
        self._stdout = io.StringIO()
        self._stderr = io.StringIO()

    @property
    def stdout(self) -> str:
        """The output to ``sys.stdout``."""
        return self._stdout.getvalue()

    @property
    def stderr(self) -> str:
        """The output to ``sys.stderr``."""
        return self._stderr.getvalue()


@contextmanager
def capture_output() -> Iterator[CapturedOutput]:
    """Collects the output of Python code in the block, instead of printing it.

    Output of other processes, and of libraries that are not written in Python, is not collected.
    """
    output = CapturedOutput()
    with redirect_stdout(output._stdout), redirect_stderr(output._stderr):
        yield output
