"""The working directory of a service.

Each service has one of its own below the transient cache, and one on disk if that is in memory. The
Python process that made them holds a lock on a file inside of each, which the operating system
releases however that process ends; so a later process can tell directories in use from those left
behind, and removes the latter.
"""

import fcntl
import logging
import os
import shutil
import time
from datetime import datetime
from pathlib import Path

from compiler_gym.util.filesystem import is_in_memory
from compiler_gym.util.runfiles_path import cache_path, site_data_path, transient_cache_path

# Reproducers of crashes, kept after the service that wrote them has ended.
#
# A service writes them into ``reproducers`` in its working directory, one directory for each crash,
# and names it to the user in the error. So the directory must outlive the working directory.

logger = logging.getLogger(__name__)

_REPRODUCERS = "reproducers"

#: The number of reproducers to keep. The oldest are deleted.
MAX_REPRODUCERS = 100


def keep_reproducers(working_dir: Path) -> list[Path]:
    """Moves the reproducers of a service to ``<site data>/reproducers/``.

    Logs a warning with their new places. The name of each begins with that of the working
    directory.

    Args:
        working_dir: The working directory of a service that has ended.

    Returns:
        The new places.

    Raises:
        OSError: If they cannot be moved. The rest stays where it was.
    """
    source = working_dir / _REPRODUCERS
    if not source.is_dir():
        return []
    found = sorted(path for path in source.iterdir() if path.is_dir())
    if not found:
        return []
    target = site_data_path(_REPRODUCERS)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The rest would be deleted at once.
    found = sorted(found, key=_modification_time)[-MAX_REPRODUCERS:]
    moved = [_move(path, target / f"{working_dir.name}-{path.name}") for path in found]
    _remove_oldest(target)
    places = "\n".join(f"  {path}" for path in moved)
    logger.warning("The service has ended. Its reproducers of crashes are now here:\n%s", places)
    return moved


def _move(path: Path, target: Path) -> Path:
    # A move from memory to disk is not atomic. It goes to a hidden name first, so that a reproducer
    # is complete or missing.
    hidden = target.with_name(f".{target.name}")
    if not target.exists():
        shutil.rmtree(hidden, ignore_errors=True)  # Another process was killed during a move.
        shutil.copytree(path, hidden, symlinks=True)
        os.utime(hidden)  # The time of arrival counts as the age.
        hidden.rename(target)
    shutil.rmtree(path)
    return target


def _remove_oldest(folder: Path) -> None:
    paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    for path in sorted(paths, key=_modification_time)[:-MAX_REPRODUCERS]:
        shutil.rmtree(path, ignore_errors=True)


def _modification_time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # Another process has removed it.
        return 0


_FOLDER = "s"
_LOCK_NAME = "owner.lock"
_MAX_NAME_ATTEMPTS = 1000

# A directory gets its final name once it is locked. One that still has a hidden name after this
# many seconds belongs to a process that has ended.
_MAX_SECONDS_IN_MAKING = 3600


class ServiceCache:
    """A new directory ``<transient cache>/s/<mmddTHHMMSS-ffffff-hhhh>`` with its subdirectories.

    Only the user may enter it (mode 0700). Use it as a context manager, or call :meth:`close`.

    Attributes:
        path: The directory.
        logs: ``path / "logs"``, for log files.
        disk: ``path / "disk"``, for large files and for programs to be executed: always on a real
            disk, also when the transient cache is in memory.

    Raises:
        OSError: If the directory cannot be made.
    """

    def __init__(self) -> None:
        root = transient_cache_path(_FOLDER)
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_stale_directories_once(root)
        self._lock_fd: int | None
        self.path, self._lock_fd = _make_locked_directory(root)
        self._disk_lock_fd: int | None = None
        self._owner_pid = os.getpid()
        self.logs = self.path / "logs"
        self.disk = self.path / "disk"
        try:
            self.logs.mkdir(mode=0o700)
            self._make_disk()
        except BaseException:
            self.close()
            raise

    def _make_disk(self) -> None:
        if not is_in_memory(self.path):
            self.disk.mkdir(mode=0o700)
            return
        # A service removes its working directory if this process was killed. Only a lock tells
        # whether the directory is in use.
        root = cache_path(_FOLDER)
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_stale_directories_once(root)
        target, self._disk_lock_fd = _make_locked_directory(root)
        self.disk.symlink_to(target)

    @property
    def closed(self) -> bool:
        """True if :meth:`close` has been called."""
        return self._lock_fd is None

    def close(self) -> None:
        """Removes the directory and everything in it. May be called repeatedly.

        Moves reproducers of crashes elsewhere first, see :func:`keep_reproducers`.

        Does nothing in a process forked from the one that made the directory.
        """
        if self._lock_fd is None:
            return
        lock_fd, self._lock_fd = self._lock_fd, None
        if os.getpid() == self._owner_pid:
            _remove_directory(self.path)
        os.close(lock_fd)
        if self._disk_lock_fd is not None:
            os.close(self._disk_lock_fd)

    def __truediv__(self, name: str | Path) -> Path:
        """Returns the path of a file or folder inside of the directory."""
        return self.path / name

    def __enter__(self) -> "ServiceCache":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_locked_directory(root: Path) -> tuple[Path, int]:
    """Creates a directory, and returns it with the descriptor of its lock."""
    for _ in range(_MAX_NAME_ATTEMPTS):
        name = datetime.now().strftime("%m%dT%H%M%S-%f-") + os.urandom(2).hex()
        hidden, path = root / f".{name}", root / name
        try:
            hidden.mkdir(mode=0o700)
        except FileExistsError:
            continue
        lock_fd = os.open(hidden / _LOCK_NAME, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX)
            if not path.exists():
                hidden.rename(path)
                return path, lock_fd
            shutil.rmtree(hidden)
        except BaseException:
            os.close(lock_fd)
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        os.close(lock_fd)
    raise OSError(f"Cannot find an unused name for a service directory in {root}")


def _remove_directory(path: Path) -> None:
    try:
        keep_reproducers(path)
    except OSError as error:
        # The next process tries again.
        logger.warning("Cannot move the reproducers of crashes away from %s: %s", path, error)
        return
    disk = path / "disk"
    if disk.is_symlink():
        target = disk.resolve()
        if target.parent == cache_path(_FOLDER).resolve():
            shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


_swept_roots: set[tuple[int, Path]] = set()


def _remove_stale_directories_once(root: Path) -> None:
    """Sweeps ``root`` the first time that this process uses it."""
    key = os.getpid(), root
    if key not in _swept_roots:
        _swept_roots.add(key)
        remove_stale_directories(root)


def remove_stale_directories(root: Path) -> int:
    """Removes the service directories whose Python process has ended without removing them.

    Args:
        root: The folder that holds the directories.

    Returns:
        The number of directories removed.
    """
    return sum(_remove_if_stale(path) for path in root.iterdir() if path.is_dir())


def _remove_if_stale(path: Path) -> bool:
    try:
        if path.name.startswith("."):
            stale = time.time() - path.stat().st_mtime > _MAX_SECONDS_IN_MAKING
        else:
            stale = _is_unlocked(path / _LOCK_NAME)
    except OSError:  # It has just been removed, or belongs to another user or program.
        return False
    if stale:
        logger.info("Removing %s, left behind by a process that has ended", path)
        _remove_directory(path)
    return stale


def _is_unlocked(lock_path: Path) -> bool:
    lock_fd = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock_fd)
    return True
