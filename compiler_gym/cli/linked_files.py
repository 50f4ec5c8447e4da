"""Programs and shared libraries that a build has linked, and their sizes."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.cli.kept_objects import files_below
from compiler_gym.tuning.size.object_file import exported_symbols, read_object
from compiler_gym.tuning.size.trial_linking import LinkedSize, LinkError, stripped_size

_HEADER_BYTES = 18
_OBJECT, _PROGRAM, _LIBRARY = 1, 2, 3  # Types of ELF files.


@dataclass(frozen=True)
class LinkedFile:
    """A program or a shared library.

    Attributes:
        size: Its loaded bytes, and the bytes of the file without symbols.
        exported: The symbols in its dynamic symbol table that it defines.
    """

    size: LinkedSize
    exported: frozenset[str]

    def is_worse(self, before: "LinkedFile", may_drop: bool) -> bool:
        """Returns true if it is larger than before, or if exported symbols are missing.

        Args:
            before: The file that clang's object files make.
            may_drop: Whether exported symbols may be missing.
        """
        is_larger = self.size.loaded > before.size.loaded or self.size.file > before.size.file
        return is_larger or (not may_drop and not self.exported >= before.exported)


@dataclass(frozen=True)
class ElfFiles:
    """The files that a build has written.

    Attributes:
        linked: Programs and shared libraries.
        objects: Object files.
    """

    linked: list[Path]
    objects: list[Path]


def files_since(roots: Iterable[str], since: int) -> list[Path]:
    """Returns the files that a build has written.

    Args:
        roots: The folders to search, with the folders in them.
        since: The time at which the build began, in nanoseconds.
    """
    files = []
    for path in dict.fromkeys(files_below(roots)):
        with suppress(OSError):  # Builds remove files.
            if path.stat().st_mtime_ns >= since:
                files.append(path)
    return files


def elf_files(paths: Iterable[Path]) -> ElfFiles:
    """Returns those of some files that have the format ELF."""
    found = ElfFiles([], [])
    for path in paths:
        kind = _type(path)
        if kind == _OBJECT:
            found.objects.append(path)
        elif kind in (_PROGRAM, _LIBRARY):
            found.linked.append(path)
    return found


def shared_groups(objects: Iterable[Path]) -> Counter[str]:
    """Returns the number of object files that have each COMDAT group, by its signature."""
    counts: Counter[str] = Counter()
    for path in objects:
        with suppress(OSError, ValueError):
            counts.update(read_object(path).shared.keys())
    return counts


def measured(paths: Iterable[Path]) -> dict[Path, LinkedFile]:
    """Returns the sizes of linked files, without those that cannot be read or stripped."""
    files = {}
    for path in paths:
        try:
            files[path] = LinkedFile(stripped_size(path), exported_symbols(path))
        except (OSError, LinkError, ValueError):
            continue  # A build may remove it, or it may be of another kind, such as a core dump.
    return files


def worse_files(
    before: Mapping[Path, LinkedFile], after: Mapping[Path, LinkedFile], may_drop: bool
) -> list[Path]:
    """Returns the files that :meth:`LinkedFile.is_worse` is true of."""
    return [path for path, each in after.items() if each.is_worse(before[path], may_drop)]


def _type(path: Path) -> int | None:
    """Returns the type of an ELF file; None if it is another file."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
    except OSError:
        return None
    if len(head) < _HEADER_BYTES or head[:4] != b"\x7fELF":
        return None
    return int.from_bytes(head[16:18], "little" if head[5] == 1 else "big")


def roots_of(folders: Collection[str]) -> list[str]:
    """Returns the folders of a build: the current one, and others that are not below it."""
    current = os.getcwd()
    return [current, *sorted({each for each in folders if not Path(each).is_relative_to(current)})]
