"""An earlier build, for ``compiler-gym build --against``."""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from compiler_gym.cli.size_diff_report import Report, listed
from compiler_gym.cli.size_inputs import Build, Folder, check_exists, code_files, scan
from compiler_gym.cli.size_limit import Judged, Limit
from compiler_gym.tuning.size.elf_sizes import Unit, read_units


class EarlierBuild:
    """An earlier build, OLD, and its comparison with the present one, NEW.

    The files of OLD are copied, because the present build may replace them.

    Args:
        path: An ELF file, an archive, or a folder.
        copies: A folder for the copies.
        limit: The growth that is allowed; None for any.
        judged: The bytes that the limit is for.

    Attributes:
        new: The file or the folder of the present build that OLD was compared with.

    Raises:
        OSError: If a file cannot be read or copied.
        ValueError: If a file has no sizes, or there is nothing to read.
    """

    def __init__(self, path: Path, copies: Path, limit: Limit | None, judged: Judged):
        check_exists(path)
        self.new = Path()
        self._path = path
        self._limit = limit
        self._judged = judged
        self._folder = scan(path) if path.is_dir() else None
        if self._folder is None:
            build = Build(read_units(path, path.name))
        else:
            build = self._folder.read(self._wants_objects)
        _check_complete(build)
        self._build = replace(build, units=_copied(build.units, copies))

    def compare(self, made: Iterable[Path]) -> Report:
        """Compares the present build.

        Args:
            made: The files that the present build has written.

        Raises:
            OSError: If a file cannot be read.
            ValueError: If no file corresponds to one of OLD, or they cannot be compared.
        """
        files = code_files(made)
        if self._folder is None:
            self.new = self._namesake(files)
            new = Build(read_units(self.new, self._path.name))
        else:
            self.new = self._root(self._folder, files)
            inside = [path for path in files if path.is_relative_to(self.new)]
            new = scan(self.new, inside).read(self._wants_objects)
        _check_complete(new)
        return Report(self._build, new, self._limit, self._judged)

    @property
    def _wants_objects(self) -> bool:
        return self._folder is not None and not self._folder.has_linked

    def _root(self, old: Folder, files: Sequence[Path]) -> Path:
        """Returns the folder of NEW below which most files have the paths of those in OLD."""
        names = dict.fromkeys(old.names(self._wants_objects))
        counts = Counter(
            parent
            for path in files
            for parent in path.parents
            if str(path.relative_to(parent)) in names
        )
        if not counts:
            raise ValueError(
                f"expected a build that makes a file of {self._path} again, such as "
                f"{listed([*names])}; it has made {_listed_files(files)}"
            )
        current = Path.cwd()
        return max(counts, key=lambda each: (counts[each], each == current, -len(each.parts)))

    def _namesake(self, files: Sequence[Path]) -> Path:
        """Returns the file with the name of OLD, or a symbolic link of that name to a file."""
        name = self._path.name
        links = sorted({path.parent / name for path in files})
        found = [path for path in links if path.resolve() in {*files}]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(
                f"expected a build that makes one file {name}, got {_listed_files(found)}; use "
                "--against with the folder of the earlier build"
            )
        raise ValueError(
            f"expected a build that makes a file {name} to compare with {self._path}; it has made "
            f"{_listed_files(files)}"
        )


def _check_complete(build: Build) -> None:
    if build.unreadable:
        raise ValueError("; ".join(build.unreadable))


def _copied(units: Sequence[Unit], folder: Path) -> list[Unit]:
    """Returns units whose files are copied into a folder."""
    paths = dict.fromkeys(unit.path for unit in units)
    copies = {path: folder / str(number) for number, path in enumerate(paths)}
    folder.mkdir()
    for path, copy in copies.items():
        shutil.copyfile(path, copy)
    return [replace(unit, path=copies[unit.path]) for unit in units]


def _listed_files(paths: Iterable[Path]) -> str:
    """Returns the names of some files: object files, of which there are many, come last."""
    ordered = sorted(paths, key=lambda each: (each.suffix == ".o", each))
    return listed([os.path.relpath(path) for path in ordered]) or "none"
