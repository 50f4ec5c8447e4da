"""Unpacking of archives."""

import shutil
import tarfile
from pathlib import Path, PurePosixPath


def unpack_tar(archive: Path, compression: str, prefix: str, destination: Path) -> int:
    """Unpacks the files of a tar archive into a new directory.

    Only regular files and directories are made, never links, so that nothing can be written
    outside of the destination, whatever the archive holds. A link to a file of the archive
    becomes a copy of that file; another link is left out. (The extraction filter "data" of
    Python's tarfile would allow links, and the Python of Debian 12 does not have it.)

    Args:
        archive: The archive.
        compression: "bz2", "gz", "xz", or "" for none.
        prefix: The directory inside of the archive to unpack, e.g. "npb-v0". Empty for all.
        destination: The directory to unpack into. It is created.

    Returns:
        The number of files.

    Raises:
        ValueError: The name of a file points outside of the destination.
        tarfile.TarError: The archive cannot be read.
        OSError: A file cannot be read or written.
    """
    destination.mkdir(parents=True)
    root = PurePosixPath(prefix)
    count = 0
    with tarfile.open(archive, f"r:{compression}") as tar:  # type: ignore[call-overload]
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise ValueError(f"{archive} is unsafe: it holds a file named {member.name!r}")
            if name != root and name.is_relative_to(root):
                count += _unpack_member(tar, member, destination / name.relative_to(root))
    return count


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bool:
    """Unpacks a member of an archive, and returns whether it is a file."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return False
    try:
        contents = tar.extractfile(member)
    except (KeyError, RecursionError):  # A link to nowhere, or to itself.
        return False
    if contents is None:  # A device, or a link to a directory.
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with contents, path.open("wb") as file:
        shutil.copyfileobj(contents, file)
    if member.mode & 0o100:
        path.chmod(path.stat().st_mode | 0o111)
    return True
