"""A cache of the results of ``compiler-gym-cc``, and tracking of files that a build moves."""

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from compiler_gym.tuning.size.compilation import decision_names
from compiler_gym.util.filesystem import atomic_file_write

_MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Found:
    """The result of the search for one source.

    Attributes:
        command: The command that makes the object file from the source.
        decisions: The change, as JSON.
        from_bitcode: True if clang made the object file from bitcode of the source.
        objective: The objective; `before` and `after` are in its unit.
        before: The size with clang alone.
        after: The size of the object file.
        tried: The number of evaluations.
        evaluations: The limit on evaluations; None if the search tried everything.
        time_limit: The time limit in seconds, if it ended the search; else None.
        same_functions: The number of unchanged functions, if the search began with the decisions
            for a former version of the source; else None.
    """

    command: list[str]
    decisions: dict[str, list[str]]
    from_bitcode: bool
    objective: str
    before: int
    after: int
    tried: int
    evaluations: int | None
    time_limit: float | None
    same_functions: int | None = None

    def is_enough(self, evaluations: int, seconds: float) -> bool:
        """Returns true if a search with a given budget cannot improve the result.

        Args:
            evaluations: The number of evaluations.
            seconds: The time limit.
        """
        if self.time_limit is not None:
            return self.tried >= evaluations or self.time_limit >= seconds
        return self.evaluations is None or self.evaluations >= evaluations


class KeptObjects:
    """Object files in a folder, each with a JSON file that says how it was found.

    Decisions that a check has found to be wrong are in a file of their own.

    Args:
        folder: The folder. It is created on first use.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def get(self, key: str) -> tuple[Path, Found] | None:
        """Returns the object file of a key and its search result; None if there is none."""
        path = self._path(key)
        try:
            facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            # The two files are written one after the other.
            if facts.pop("digest") != digest_of(path):
                return None
            found = Found(**facts)
            if decision_names(found.decisions) & self.refused(key):
                return None
            os.utime(path)
            return path, found
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, made: Path, found: Found) -> tuple[Path, Found]:
        """Stores a result unless the stored one is as small. Returns the stored result.

        Args:
            key: Its key.
            made: The object file.
            found: The result of the search.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        former = self.get(key)
        if former is not None and former[1].after <= found.after:
            # This search found nothing better and need not be repeated.
            kept = asdict(former[1]) | {
                name: getattr(found, name) for name in ("tried", "evaluations", "time_limit")
            }
            made, found = former[0], Found(**kept)
        path = self._path(key)
        facts: dict[str, Any] = asdict(found) | {"digest": digest_of(made)}
        if made != path:
            with atomic_file_write(path) as temporary:
                shutil.copyfile(made, temporary)
        with atomic_file_write(path.with_suffix(".json"), fileobj=True, mode="w") as file:
            json.dump(facts, file, indent=1)
        self._forget_oldest()
        return path, found

    def refused(self, key: str) -> set[str]:
        """Returns the wrong decisions for a key, in the form that :meth:`refuse` takes."""
        try:
            return {*json.loads(self._path_of_refused(key).read_text(encoding="utf-8"))}
        except (OSError, ValueError):
            return set()

    def refuse(self, key: str, decisions: Iterable[str]) -> None:
        """Records wrong decisions for a key. Results with one of them are not used again.

        Args:
            key: The key.
            decisions: The names of the decisions, see :func:`decision_names`.
        """
        former = self.refused(key)
        if not former.issuperset(decisions):
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_file_write(self._path_of_refused(key), fileobj=True, mode="w") as file:
                json.dump(sorted(former.union(decisions)), file, indent=1)

    def _path_of_refused(self, key: str) -> Path:
        return self._folder / f"{key}.refused.json"

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.o"

    def _forget_oldest(self) -> None:
        """Removes the least recently used object files, if their total size is too large."""
        facts = []
        for path in self._folder.glob("*.o"):
            with suppress(FileNotFoundError):  # Other processes remove files, too.
                facts.append((path.stat(), path))
        size = sum(status.st_size for status, _ in facts)
        for status, path in sorted(facts, key=lambda each: each[0].st_mtime):
            if size <= _MAX_BYTES:
                break
            path.unlink(missing_ok=True)
            path.with_suffix(".json").unlink(missing_ok=True)
            size -= status.st_size


def digest_of(path: Path) -> str:
    """Returns a digest of the content of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


# Tracking of object files that a build moves or renames.


def find_objects(notes: Sequence[Mapping[str, Any]]) -> list[Path | None]:
    """Finds the object files of a build by their content.

    Args:
        notes: For each object file ``output``, its path when it was compiled, ``digest``, its
            digest then, and ``folder``, the working directory of the compiler.

    Returns:
        The current path of each object file, all different; None if it no longer exists.
    """
    places: list[Path | None] = [None] * len(notes)
    for index, note in enumerate(notes):
        path = Path(note["output"])
        if path.is_file() and digest_of(path) == note["digest"]:
            places[index] = path
    lost = {index for index, place in enumerate(places) if place is None}
    if lost:
        wanted = {notes[index]["digest"] for index in lost}
        roots = [os.getcwd(), *(notes[index]["folder"] for index in lost)]
        found = _by_digest(roots, wanted)
        for index in sorted(lost):
            places[index] = _take(notes[index], found, places)
    # A build may change an object file in place, for example with strip.
    for index in lost:
        path = Path(notes[index]["output"])
        if places[index] is None and path.is_file() and path not in places:
            places[index] = path
    return places


def _take(
    note: Mapping[str, Any], found: Mapping[str, Iterable[Path]], taken: Sequence[Path | None]
) -> Path | None:
    """Returns the file of a note, preferably one with the same name."""
    stem = Path(note["output"]).stem
    candidates = (path for path in found.get(note["digest"], ()) if path not in taken)
    return min(candidates, key=lambda path: (path.stem != stem, path), default=None)


def _by_digest(roots: Iterable[str], digests: set[str]) -> dict[str, list[Path]]:
    """Returns the files below folders by their digest."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in dict.fromkeys(files_below(roots)):
        try:
            digest = digest_of(path) if _is_object(path) else ""
        except OSError:
            continue
        if digest in digests:
            found[digest].append(path)
    return found


def files_below(roots: Iterable[str]) -> Iterator[Path]:
    """Yields the regular files below folders, without symbolic links."""
    for root in dict.fromkeys(map(os.path.realpath, roots)):
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    yield path


def _is_object(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
