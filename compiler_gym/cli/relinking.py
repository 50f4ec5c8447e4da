"""Links again what a build has linked, with other object files.

A search for the units that make a program larger tries many sets of object files. Linking alone
takes a small part of the time of a build. Its result is only a guess, as builds may do more: what
is found has to be built and measured.
"""

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.cli.kept_objects import digest_of
from compiler_gym.cli.linked_files import LinkedFile, measured
from compiler_gym.util import llvm_tools
from compiler_gym.util.clang_driver import NotUnderstoodError, has_readable_files, jobs_of
from compiler_gym.util.commands import run_command

_SECONDS = 600
_ARCHIVE = b"!<arch>\n"


@dataclass(frozen=True)
class Member:
    """An object file in an archive.

    Attributes:
        name: Its name.
        path: A copy of it.
        object_file: The object file of the build that it is a copy of; None if there is none.
    """

    name: str
    path: Path
    object_file: Path | None


class Link:
    """A linker's command that makes one file.

    Args:
        command: The program and its arguments.
        output: The file that it makes, as the command names it.
        folder: The working directory.
        environment: The environment variables.
        objects: The object files of the build that may be replaced.
        work: A folder for copies of members of archives. It must stay.

    Raises:
        OSError: If an input cannot be read.
        subprocess.SubprocessError: If an archive cannot be read.
    """

    def __init__(
        self,
        command: Sequence[str],
        output: str,
        folder: Path,
        environment: Mapping[str, str],
        objects: Sequence[Path],
        work: Path,
    ):
        self._command = command
        self._output = output
        self._folder = folder
        self._environment = environment
        self._objects = {path.resolve(): path for path in objects}
        self._archives: dict[str, list[Member]] = {}
        digests = {digest_of(path): path for path in objects}
        for word in command[1:]:
            path = self._archive(word)
            if path is not None and word not in self._archives:
                copies = Path(tempfile.mkdtemp(dir=work))
                self._archives[word] = [*_members(path, digests, copies)]

    def _archive(self, word: str) -> Path | None:
        """Returns the archive that an argument names; None if it names none."""
        candidates = [self._folder / word]
        if word.startswith("-l"):
            folders = [each[2:] for each in self._command if each.startswith("-L") and each[2:]]
            candidates = [
                self._folder / folder / f"lib{word[2:]}{suffix}"
                for folder in folders
                for suffix in (".so", ".a")
            ]
        path = next((each for each in candidates if each.is_file()), None)
        if path is None:
            return None
        with path.open("rb") as file:
            return path if file.read(len(_ARCHIVE)) == _ARCHIVE else None

    def size(self, copies: Mapping[Path, Path]) -> LinkedFile | None:
        """Links, and returns the size of the linked file; None if that fails.

        Args:
            copies: The file to link in place of each object file of the build.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            output = Path(name) / "linked"
            words = [*self._words(copies, Path(name), output)]
            with suppress(OSError, subprocess.SubprocessError):
                run_command(
                    words,
                    timeout=_SECONDS,
                    cwd=self._folder,
                    env=dict(self._environment),
                    text=False,
                )
            return measured([output]).get(output)

    def _words(
        self, copies: Mapping[Path, Path], folder: Path, output: Path
    ) -> Iterator[str | Path]:
        former = ""
        for word in self._command:
            path = self._objects.get((self._folder / word).resolve())
            members = self._archives.get(word, [])
            if former == "-o" and word == self._output:
                yield output
            elif path is not None:
                yield copies[path]
            elif any(member.object_file for member in members):
                archive = folder / f"{len([*folder.iterdir()])}.a"
                _write_archive(archive, members, copies)
                yield archive
            else:
                yield word
            former = word


def _members(archive: Path, digests: Mapping[str, Path], folder: Path) -> Iterator[Member]:
    """Yields the members of an archive, of which several may have the same name.

    Args:
        archive: The archive.
        digests: The object files of the build, by the digests of their contents.
        folder: An empty folder for copies.
    """
    tool = llvm_tools.tool_path("llvm-ar")
    listed = run_command([tool, "t", archive], timeout=_SECONDS).stdout.splitlines()
    for number, name in enumerate(listed):
        own = folder / str(number)
        own.mkdir()
        place = str(listed[: number + 1].count(name))
        run_command([tool, "xN", place, archive.absolute(), name], timeout=_SECONDS, cwd=own)
        path = own / name
        yield Member(name, path, digests.get(digest_of(path)))


def _write_archive(path: Path, members: Sequence[Member], copies: Mapping[Path, Path]) -> None:
    """Writes an archive, with copies in place of members that are object files of the build."""
    files: list[Path] = []
    for number, member in enumerate(members):
        files.append(member.path)
        if member.object_file is not None:
            own = path.with_suffix(f".{number}")
            own.mkdir()
            files[-1] = own / member.name
            files[-1].symlink_to(copies[member.object_file].absolute())
    # "q" keeps several members with the same name.
    tool = llvm_tools.tool_path("llvm-ar")
    run_command([tool, "qcS", path, *files], timeout=_SECONDS)
    run_command([tool, "s", path], timeout=_SECONDS)


@dataclass(frozen=True)
class _Command:
    """A linker's command: its words, the file that it makes as these name it, and where it runs."""

    words: list[str]
    output: str
    folder: Path
    environment: Mapping[str, str]


def links_of(
    paths: Iterable[Path], notes: Sequence[Mapping[str, Any]], objects: Sequence[Path], work: Path
) -> dict[Path, Link] | None:
    """Returns the commands that have linked files; None unless exactly one of each is known.

    Args:
        paths: The linked files.
        notes: The commands of clang that link: ``driver``, ``words``, ``folder`` and
            ``environment`` of each.
        objects: The object files of the build that may be replaced.
        work: A folder for copies of files. It must stay.
    """
    found: dict[Path, list[_Command]] = defaultdict(list)
    for each in filter(None, map(_linker_command, notes)):
        found[(each.folder / each.output).resolve()].append(each)
    links = {}
    for path in paths:
        commands = found[path.resolve()]
        if len(commands) != 1:
            return None
        (it,) = commands
        try:
            links[path] = Link(it.words, it.output, it.folder, it.environment, objects, work)
        except (OSError, subprocess.SubprocessError):
            return None
    return links


def _linker_command(note: Mapping[str, Any]) -> _Command | None:
    """Returns the linker's command of a command of clang that only links, else None."""
    folder, words, environment = Path(note["folder"]), note["words"], note["environment"]
    if not folder.is_dir() or not has_readable_files(words, folder):
        return None
    try:
        jobs = jobs_of(llvm_tools.tool_path(note["driver"]), words, folder, environment)
    except (NotUnderstoodError, OSError):
        return None
    if len(jobs) != 1 or jobs[0].is_cc1 or not jobs[0].output:
        return None
    return _Command([jobs[0].program, *jobs[0].words], jobs[0].output, folder, environment)
