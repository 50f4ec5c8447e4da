"""Reproducers of crashes, kept after the service that wrote them has ended.

A service writes them into ``reproducers`` in its working directory, one directory for each crash,
and names it to the user in the error. So the directory must outlive the working directory.
"""

import logging
import os
import shutil
from pathlib import Path

from compiler_gym.util.runfiles_path import site_data_path

logger = logging.getLogger(__name__)

_FOLDER = "reproducers"

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
    source = working_dir / _FOLDER
    if not source.is_dir():
        return []
    found = sorted(path for path in source.iterdir() if path.is_dir())
    if not found:
        return []
    target = site_data_path(_FOLDER)
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
