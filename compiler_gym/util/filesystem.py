"""Files and file systems."""

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_MOUNTS = Path("/proc/self/mounts")
_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")


def check_replaceable(path: Path) -> None:
    """Checks that a file may take the place of a path.

    Raises:
        OSError: If the path is a folder, a device, a pipe, or a link such as ``/dev/stdout``.
    """
    leads_to_stream = path.is_symlink() and os.readlink(path).startswith("/proc/")
    if leads_to_stream or (path.exists() and not path.is_file()):
        raise OSError(f"{path} is no ordinary file: name a new file")


def read_text(path: Path) -> str:
    """Returns the text of a file of a user.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is not text in UTF-8. The message names the file.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"expected text in UTF-8 in {path}, got the byte 0x{error.object[error.start]:02x} at "
            f"offset {error.start}"
        ) from None


@contextmanager
def atomic_file_write(
    path: Path, fileobj: bool = False, mode: str = "wb", permissions: int = 0o666
) -> Iterator[Any]:
    """Writes a file atomically.

    The block writes to a new file beside ``path``, which replaces ``path`` at the end, or is
    removed if the block raises an exception.

    Args:
        path: The file to write. Its directory must exist.
        fileobj: Yield an open file rather than the path of the new file.
        mode: The mode for opening the file.
        permissions: The permissions of the new file, less those that the umask takes away.

    Yields:
        The path of the new file, which is empty, or the file opened for writing.

    Raises:
        OSError: If the file cannot be written, or :func:`check_replaceable` refuses ``path``.
    """
    path = Path(path)
    check_replaceable(path)
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    # Not mkstemp(), whose files are for their owner alone.
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions)
    try:
        if fileobj:
            with os.fdopen(descriptor, mode) as file:
                yield file
        else:
            os.close(descriptor)
            yield temporary
        temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def file_of_uri(uri: str) -> Path:
    """Returns the file that ``file:///path`` names. The path may be percent-encoded.

    Raises:
        ValueError: If it is no such URI.
    """
    text = uri.removeprefix("file://")
    if text == uri or not text.startswith("/"):
        raise ValueError(f"expected file:///absolute/path, got {uri!r}")
    path = Path(text)
    return path if path.exists() else Path(unquote(text, errors="surrogateescape"))


def is_in_memory(path: Path) -> bool:
    """Returns true if a path, which need not exist, is in a memory file system."""
    target = Path(os.path.realpath(path))
    kinds = {}
    with suppress(OSError):
        for line in _MOUNTS.read_text().splitlines():
            _, mount_point, kind, *_ = line.split(" ")
            # Blanks are written as octal numbers there.
            kinds[re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount_point)] = kind
    for directory in (target, *target.parents):
        if str(directory) in kinds:
            return kinds[str(directory)] in _MEMORY_FILE_SYSTEMS
    return False


# Mutual exclusion between processes, and between the threads of one.
#
# The library filelock only locks files; `compiler-gym lock` locks a directory.


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


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Makes a folder if need be, and keeps other processes out of it during the context.

    Raises:
        BlockingIOError: Another process uses it.
        OSError: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(file_lock(folder / ".lock", wait=False))
        except BlockingIOError as error:
            raise BlockingIOError(
                f"expected a folder for this command alone, got {folder}, which another process "
                "uses; try another folder"
            ) from error
        yield
