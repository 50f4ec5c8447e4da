"""Tracking of object files that a build moves or renames."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler_gym.cli.kept_objects import digest_of

# Options for dependency files, which exist already. Those in the second tuple have a value.
_DEPENDENCIES = ("-MD", "-MMD", "-MP", "-Wp,-M")
_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-MJ")


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
    for path in dict.fromkeys(_files(roots)):
        try:
            digest = digest_of(path) if _is_object(path) else ""
        except OSError:
            continue
        if digest in digests:
            found[digest].append(path)
    return found


def _files(roots: Iterable[str]) -> Iterator[Path]:
    for root in dict.fromkeys(map(os.path.realpath, roots)):
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    yield path


def _is_object(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def without_outputs(words: Sequence[str]) -> list[str]:
    """Returns the arguments of a compiler without those that name its outputs."""
    kept, rest = [], iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith((*_WITH_VALUE, *_DEPENDENCIES)) or word.startswith("-object"):
            kept.append(word)
    return kept
