"""Files of two builds whose sizes ``compiler-gym size-diff`` compares."""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.cli.kept_objects import files_below
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

# What build systems compile to learn about compilers, what they write before they rename it, and
# folders of version control.
_TEMPORARY = re.compile(
    r"(^|/)(\.git|\.hg|\.svn|CMakeTmp|CMakeScratch|CompilerId\w+|meson-private|conftest[^/]*)(/|$)"
    r"|(~|\.tmp|\.temp|\.swp|\.dwo|\.dwp)$|(^|/)\.#"
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
        _check_exists(path)
    if old.is_dir() != new.is_dir():
        raise ValueError(
            f"expected two files or two folders, got {'a folder' if old.is_dir() else 'a file'} "
            f"and {'a folder' if new.is_dir() else 'a file'}: {old} and {new}"
        )
    if not old.is_dir():
        return Build(read_units(old, new.name)), Build(read_units(new, new.name))
    found = [_scan(path) for path in (old, new)]
    is_linked = not wants_objects and any(_LINKED in kinds.values() for kinds in found)
    builds = [
        _read(path, kinds, _LINKED if is_linked else _OBJECTS)
        for path, kinds in zip((old, new), found, strict=True)
    ]
    for path, build in zip((old, new), builds, strict=True):
        if not build.units:
            names = _LINKED[1] if is_linked else _OBJECTS[1]
            reasons = [f"there are no {names} to compare in {path}", *build.unreadable]
            raise ValueError("; ".join(reasons))
    return builds[0], builds[1]


def _check_exists(path: Path) -> None:
    if not path.exists():
        names = os.listdir(path.parent) if path.parent.is_dir() else []
        raise FileNotFoundError(
            f"there is no file or folder {path}.{did_you_mean(path.name, names)}".rstrip(".")
        )
    if not path.is_dir() and not path.is_file():
        raise ValueError(f"expected a file or a folder, got {path}")


def _scan(folder: Path) -> dict[str, tuple[str, str]]:
    """Returns the files of a folder by their paths in it, and what they are."""
    root = os.path.realpath(folder)
    kinds = {}
    for path in sorted(files_below([root])):
        name = str(path.relative_to(root))
        kinds[name] = _TEMPORARIES if _TEMPORARY.search(name) else _kind(path)
    return kinds


def _kind(path: Path) -> tuple[str, str]:
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


def _read(folder: Path, kinds: dict[str, tuple[str, str]], wanted: tuple[str, str]) -> Build:
    build = Build()
    root = Path(os.path.realpath(folder))
    names = [name for name, kind in kinds.items() if kind == wanted]
    build.ignored.update(kind for kind in kinds.values() if kind != wanted)
    members: set[str] = set()
    # Archives come first: their members may be in the folder, too.
    for name in sorted(names, key=lambda each: (not each.endswith(".a"), each)):
        try:
            units = read_units(root / name, name)
        except (OSError, ValueError) as error:
            build.unreadable.append(str(error))
            continue
        if len(units) > 1 or units[0].offset:
            members.update(each.digest for each in units)
        elif units[0].digest in members:
            build.ignored[_MEMBERS] += 1
            continue
        build.units += units
    return build
