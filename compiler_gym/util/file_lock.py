"""Mutual exclusion between processes, and between the threads of one."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(path: Path, wait: bool = True) -> Iterator[None]:
    """Holds an exclusive lock for the duration of the context.

    The operating system releases the lock when the process ends, however it ends. The file
    stays behind: deleting it would let two holders lock different files of the same name.
    Not re-entrant.

    Args:
        path: The file to lock. It is created, with its parent directories, when missing.
        wait: Whether to wait for another holder to release it.

    Raises:
        BlockingIOError: There is another holder, and no waiting.
        OSError: The file cannot be created or locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Each use opens the file anew, which is what makes the lock exclude threads too.
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
