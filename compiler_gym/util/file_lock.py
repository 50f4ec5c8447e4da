"""Mutual exclusion between processes, and between the threads of one.

The library filelock only locks files; `compiler-gym lock` locks a directory.
"""

import fcntl
import os
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
        path: The file to lock. It is created, with its parent directories, when missing. A
            directory can be locked, too, which leaves nothing behind.
        wait: Wait for another holder to release it.

    Raises:
        BlockingIOError: There is another holder, and ``wait`` is False.
        OSError: The file cannot be created or locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    # Each use opens the file again, so that the lock excludes threads too.
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
