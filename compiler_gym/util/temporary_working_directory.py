"""A temporary working directory."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_working_directory(directory: Path | None = None) -> Iterator[Path]:
    """Changes the working directory of the process for the duration of the block.

    It affects all threads, but no other processes.

    Args:
        directory: The directory; by default a new one that is removed at the end.

    Yields:
        The directory.
    """
    former = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as temporary:
        path = Path(temporary if directory is None else directory)
        os.chdir(path)
        try:
            yield path
        finally:
            os.chdir(former)
