"""Files of builds whose sizes are compared."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.cli.kept_objects import files_below
from compiler_gym.cli.probes import is_of_probe
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.tuning.size.elf_sizes import (
    ARCHIVE,
    BITCODE,
    ELF,
    THIN_ARCHIVE,
    Unit,
    read_units,
)

_HEAD_BYTES = 18
_OBJECT, _CORE = 1, 4  # Types of ELF files.

_DEBUGGING = (".debug", ".dbg")  # Suffixes of files with debugging information alone.

# What build systems write before they rename it, and folders of version control.
_TEMPORARY = re.compile(
    r"(^|/)(\.git|\.hg|\.svn)(/|$)|(~|\.tmp|\.temp|\.swp|\.dwo|\.dwp)$|(^|/)\.#"
)

_LINKED = "program or shared library", "programs and shared libraries"
_OBJECTS = "object file or archive", "object files and archives"
_TEMPORARIES = "temporary file", "temporary files"
_MEMBERS = "object file that is in an archive, too", "object files that are in an archive, too"
_THIN = "thin archive", "thin archives"
_OTHERS = "file without machine code", "files without machine code"


@dataclass
class Build:
    """The files of a build that are compared.

    Attributes:
        units: The units in them.
        unreadable: The reasons for which further files cannot be compared.
        ignored: The number of files that are ignored, by what they are: singular and plural.
    """

    units: list[Unit] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    ignored: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True)
class Folder:
    """The files of a build in a folder.

    Attributes:
        path: The folder, for messages.
        root: The folder without symbolic links.
        kinds: The kind of each file, singular and plural, by its relative path.
    """

    path: Path
    root: Path
    kinds: Mapping[str, tuple[str, str]]

    @property
    def has_linked(self) -> bool:
        """True if there are programs or shared libraries."""
        return _LINKED in self.kinds.values()

    def names(self, wants_objects: bool) -> list[str]:
        """Returns the paths of object files and archives, or else of programs and libraries."""
        wanted = _OBJECTS if wants_objects else _LINKED
        return [name for name, kind in self.kinds.items() if kind == wanted]

    def read(self, wants_objects: bool) -> Build:
        """Reads the files.

        Args:
            wants_objects: Whether to read object files and archives instead of programs and shared
                libraries.

        Raises:
            ValueError: If there is nothing to read.
        """
        build = Build()
        wanted = _OBJECTS if wants_objects else _LINKED
        build.ignored.update(kind for kind in self.kinds.values() if kind != wanted)
        members: set[str] = set()
        # Archives come first: their members may be in the folder, too.
        names = self.names(wants_objects)
        for name in sorted(names, key=lambda each: (not each.endswith(".a"), each)):
            try:
                units = read_units(self.root / name, name)
            except (OSError, ValueError) as error:
                build.unreadable.append(str(error))
                continue
            if len(units) > 1 or units[0].offset:
                members.update(each.digest for each in units)
            elif units[0].digest in members:
                build.ignored[_MEMBERS] += 1
                continue
            build.units += units
        if not build.units:
            reasons = [f"there are no {wanted[1]} to compare in {self.path}", *build.unreadable]
            raise ValueError("; ".join(reasons))
        return build


def scan(folder: Path, files: Iterable[Path] | None = None) -> Folder:
    """Finds the files of a build.

    Args:
        folder: A folder.
        files: Some files, by their paths without symbolic links; None for all in the folder.
    """
    root = os.path.realpath(folder)
    kinds = {}
    for path in sorted(files_below([root]) if files is None else files):
        name = os.path.relpath(path, root)
        kinds[name] = _kind(path, name)
    return Folder(folder, Path(root), kinds)


def code_files(files: Iterable[Path]) -> list[Path]:
    """Returns the files that may have machine code, and are not temporary."""
    others = _TEMPORARIES, _OTHERS
    return [path for path in sorted(files) if _kind(path, os.path.relpath(path)) not in others]


def read_builds(old: Path, new: Path, wants_objects: bool) -> tuple[Build, Build]:
    """Reads the files of two builds.

    Args:
        old: A file, or the folder of the old build.
        new: A file, or the folder of the new build.
        wants_objects: Whether to read object files and archives of folders, even if there are
            programs or shared libraries.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If a file has no sizes, or there is nothing to read.
    """
    for path in (old, new):
        check_exists(path)
    if old.is_dir() != new.is_dir():
        raise ValueError(
            f"expected two files or two folders, got {'a folder' if old.is_dir() else 'a file'} "
            f"and {'a folder' if new.is_dir() else 'a file'}: {old} and {new}"
        )
    if not old.is_dir():
        return Build(read_units(old, new.name)), Build(read_units(new, new.name))
    before, after = scan(old), scan(new)
    wants_objects = wants_objects or not (before.has_linked or after.has_linked)
    return before.read(wants_objects), after.read(wants_objects)


def check_exists(path: Path) -> None:
    """Checks that a path is that of a file or a folder.

    Raises:
        FileNotFoundError: If it does not exist.
        ValueError: If it is something else, such as a device.
    """
    if not path.exists():
        names = os.listdir(path.parent) if path.parent.is_dir() else []
        raise FileNotFoundError(
            f"there is no file or folder {path}.{did_you_mean(path.name, names)}".rstrip(".")
        )
    if not path.is_dir() and not path.is_file():
        raise ValueError(f"expected a file or a folder, got {path}")


def _kind(path: Path, name: str) -> tuple[str, str]:
    """Returns the kind of a file, singular and plural.

    Args:
        path: The file.
        name: Its path in the folder of the build.
    """
    if _TEMPORARY.search(name) or is_of_probe(name):
        return _TEMPORARIES
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return _OBJECTS if path.suffix in (".o", ".a") else _OTHERS
    if head.startswith(THIN_ARCHIVE):
        return _THIN  # The object files themselves are in the folder.
    if head.startswith((ARCHIVE, *BITCODE)):
        return _OBJECTS
    if not head.startswith(ELF):
        # Object files whose writing was ended are no reason to say that all is well.
        return _OBJECTS if path.suffix in (".o", ".obj") else _OTHERS
    kind = int.from_bytes(head[16:18], "little" if head[5:6] == b"\1" else "big")
    if kind == _CORE or path.suffix in _DEBUGGING:
        return _OTHERS
    return _OBJECTS if kind == _OBJECT else _LINKED
