"""The sources of a project, read from the file ``compile_commands.json`` of its build."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.envs.llvm.benchmarks.build_command import BuildCommand, parse_build_command
from compiler_gym.util import llvm_tools
from compiler_gym.util.clang_driver import Job, NotUnderstoodError, jobs_of
from compiler_gym.util.filesystem import read_text
from compiler_gym.util.thread_pool import map_in_threads

FILE_NAME = "compile_commands.json"
"""The name by which build systems write it."""

_LANGUAGES = {"c": False, "cpp-output": False, "c++": True, "c++-cpp-output": True}
_SUFFIXES = (".c", ".i", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".ii")

_OTHER = "neither C nor C++"

# Options that say what is written and where, with the value in the next word, in the same word, and
# without one. What is missing here is noticed, as clang's jobs would differ.
_WITH_VALUE = (
    *("-o", "--output", "-MF", "-MT", "-MQ", "-MJ", "-x", "--serialize-diagnostics"),
    *("-serialize-diagnostics", "-gen-cdb-fragment-path"),
)
_JOINED = (
    *("-o", "--output=", "-MF", "-MT", "-MQ", "-MJ", "-x", "-Wp,-M", "-O", "-flto", "-save-temps"),
    *("--save-temps", "-save-stats", "--save-stats", "-ftime-trace", "-foptimization-record-"),
    "-fproc-stat-report",
)
_FLAGS = (
    *("-c", "--compile", "-MD", "-MMD", "-MP", "-MV", "-fstack-usage", "-fno-lto", "--"),
    *("-fsave-optimization-record", "-no-integrated-as", "-fno-integrated-as"),
)

# clang acts on these itself, outside of jobs.
_OF_DRIVER = (
    *("@", "--config", "-MJ", "--serialize-diagnostics", "-serialize-diagnostics"),
    *("-gen-cdb-fragment-path", "-fproc-stat-report", "--emit-static-lib"),
)

_OBJECT = "object.o"

# Options of jobs that say nothing about the code.
_WITHOUT_EFFECT = (
    *("-MT", "-MQ", "-MP", "-MV", "-sys-header-deps", "-dumpdir", "-object-file-name"),
    *("-stats-file-", "-opt-record-", "-ftime-trace"),
)


@dataclass(frozen=True)
class ProjectSource:
    """A source of a project.

    Attributes:
        folder: The folder in which the build compiles it.
        source: The source, relative to that folder or absolute.
        options: The options of the build, without the level of optimisation and outputs.
        output: The object file, relative to the folder of the project's object files.
        is_cxx: True if the source is C++ rather than C.
    """

    folder: Path
    source: str
    options: tuple[str, ...]
    output: Path
    is_cxx: bool = False


@dataclass(frozen=True)
class LeftSource:
    """An entry of a project that cannot be optimised.

    Attributes:
        source: The path of the source.
        why: The reason.
        is_failure: True if it is C or C++; False for other languages.
    """

    source: str
    why: str
    is_failure: bool


@dataclass(frozen=True)
class Project:
    """The compilations of a project.

    Attributes:
        sources: The sources in C and C++, in the order of the file. A source that is compiled twice
            to the same object file counts once.
        left: The other entries.
    """

    sources: tuple[ProjectSource, ...]
    left: tuple[LeftSource, ...]


def read_compile_commands(path: Path) -> Project:
    """Reads the compilations of a project. clang reads each, and nothing runs.

    Args:
        path: The file.

    Raises:
        ValueError: If the file has another format, or has no source in C or C++.
        OSError: If it cannot be read.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"expected JSON in {path}, got {error}") from error
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise ValueError(f"expected a list of compilations in {path}, got something else")
    found = map_in_threads(
        lambda number: _source_of(number, entries[number], path), range(len(entries))
    )
    sources: dict[Path, ProjectSource] = {}
    for each in found:
        if isinstance(each, ProjectSource):
            sources.setdefault(each.output, each)
    left = tuple(each for each in found if isinstance(each, LeftSource))
    if not sources:
        first = f"; {left[0].source}: {left[0].why}" if left else ""
        raise ValueError(f"expected compilations of C or C++ in {path}, found none{first}")
    return Project(tuple(sources.values()), left)


def _source_of(number: int, entry: Mapping[str, Any], path: Path) -> ProjectSource | LeftSource:
    command: Any = entry.get("arguments") or entry.get("command")
    directory: Any = entry.get("directory")
    for key, value, kinds in (
        ("command", command, (str, list)),
        ("directory", directory, (str,)),
        ("file", entry.get("file", ""), (str,)),
        ("output", entry.get("output", ""), (str,)),
    ):
        if not isinstance(value, kinds):
            raise ValueError(
                f"entry {number} of {path}: expected a text as the value of '{key}', got {value!r}"
            )
    folder = (path.parent / directory).absolute()
    name = str(folder / entry["file"]) if "file" in entry else ""
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(it) for it in command]
        return _CommandReader(folder, words).source(entry.get("output"), path.parent)
    except _OtherLanguageError as error:
        return LeftSource(str(error), _OTHER, is_failure=False)
    except (ValueError, OSError) as error:
        # clang has no language for some suffixes, and takes such files for those of the linker.
        is_failure = not name or Path(name).suffix in _SUFFIXES
        why = str(error) if is_failure else _OTHER
        return LeftSource(name or str(command), why, is_failure)


class _OtherLanguageError(ValueError):
    """A source is neither C nor C++. The text is its path."""


class _CommandReader:
    """Reads the compilation of one source.

    Args:
        folder: The folder of the compilation.
        words: The command.
    """

    def __init__(self, folder: Path, words: Sequence[str]):
        self._folder = folder
        self._words = words
        self._clang = llvm_tools.clang_path()

    def source(self, output: str | None, root: Path) -> ProjectSource:
        """Returns the source.

        Args:
            output: The object file, if the entry names it.
            root: The folder of the file with the entries.

        Raises:
            _OtherLanguageError: If it is neither C nor C++.
            ValueError: If the command is not understood.
            OSError: If a file with arguments cannot be read.
        """
        command = self._parse(self._words)
        if len(command.compilations) != 1:
            raise ValueError(
                f"expected one source, got {len(command.compilations)}: use an entry for each"
            )
        (job,) = command.compilations
        (source,) = job.inputs
        if source.language not in _LANGUAGES:
            raise _OtherLanguageError(self._folder / source.path)
        inside = os.path.relpath(self._folder / (output or command.output), root)
        return ProjectSource(
            self._folder,
            # In the current folder, a name with a dash at the beginning would be an option.
            str(self._folder / source.path) if source.path.startswith("./-") else source.path,
            self._options(command),
            Path(*(part for part in Path(inside).parts if part != "..")),
            _LANGUAGES[source.language],
        )

    def _parse(self, words: Sequence[str]) -> BuildCommand:
        mode = ["--driver-mode=g++"] if "++" in Path(words[0] if words else "").name else []
        return parse_build_command(words, self._clang, mode, self._folder)

    def _options(self, command: BuildCommand) -> tuple[str, ...]:
        """Returns the options with which clang compiles the source in the same way."""
        (job,) = command.compilations
        (source,) = job.inputs
        words = [*_expanded(self._words[1:], self._folder)]
        # A value may have the name of the source, which comes last most of the time.
        names = (source.path, source.path.removeprefix("./"))
        for place in reversed([index for index, word in enumerate(words) if word in names]):
            rest = [*words[:place], *words[place + 1 :]]
            kept = [*_without_outputs(rest)]
            for options in (kept, [*kept, "-x", source.language]):
                if self._is_same(job, rest, options):
                    return tuple(options)
        raise ValueError(
            f"expected options that only say how the code is made, got '{command.text}'; leave out "
            "those that write further files, such as --coverage or -gsplit-dwarf"
        )

    def _is_same(self, job: Job, words: Sequence[str], options: Sequence[str]) -> bool:
        """Returns true if clang does the same job with other options, and writes nothing else.

        Args:
            job: The job.
            words: The arguments of the build, for the level.
            options: The options, without the level.
        """
        if any(word.startswith(_OF_DRIVER) for word in options):
            return False
        level = next((word for word in reversed(words) if word.startswith("-O")), "-O0")
        level = "-O2" if level == "-O0" else level  # As in the job.
        made = [level, *options, "-w", "-c", job.inputs[0].path, "-o", _OBJECT]
        try:
            again = jobs_of(self._clang, made, self._folder)
        except NotUnderstoodError:
            return False
        return (
            len(again) == 1
            and again[0].makes_object
            and again[0].output == _OBJECT
            and not again[0].side_outputs
            and again[0].inputs == job.inputs
            and [*_about_code(again[0].options)] == [*_about_code(job.options)]
        )


def _about_code(options: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yields the options of a job that say something about the code, without ``-w``."""
    return (each for each in options if each != ("-w",) and not each[0].startswith(_WITHOUT_EFFECT))


def _without_outputs(words: Sequence[str]) -> Iterator[str]:
    """Yields the arguments of clang without those about outputs and the level."""
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif word not in _FLAGS and not word.startswith(_JOINED):
            yield word


def _expanded(words: Sequence[str], folder: Path) -> Iterator[str]:
    """Yields words, with those of response files in their place."""
    for word in words:
        path = folder / word[1:]
        if word.startswith("@") and path.is_file():
            yield from _expanded(shlex.split(read_text(path)), folder)
        else:
            yield word
