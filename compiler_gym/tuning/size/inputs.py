"""Inputs of a search: files, programs known by name, projects, and checks of the outcome."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Benchmark, Datasets
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.envs.llvm.benchmarks.compiler_command import (
    CompilerCommand,
    parse_compiler_command,
)
from compiler_gym.envs.llvm.benchmarks.validation import ProgramValidator
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command

# Checks that an object file behaves as its source does.

Check = Callable[[Path], str]
"""Takes the path of an object file. Returns what is wrong with it, nothing if it is right."""

CHECK_SECONDS = 600
_MAX_CHARACTERS = 500


def all_of(checks: Sequence[Check]) -> Check:
    """Returns a check that makes several checks in order, and passes if all pass."""

    def check(path: Path) -> str:
        return next(filter(None, (each(path) for each in checks)), "")

    return check


def command_check(command: str) -> Check:
    """Returns a check by a shell command, which passes with exit code 0.

    Args:
        command: The command. ``{}`` stands for the path of the object file, which is also in the
            environment variable ``OBJECT``. Commands run in the current folder, one at a time,
            with a time limit of 10 minutes.
    """

    def check(path: Path) -> str:
        text = command.replace("{}", shlex.quote(str(path)))
        environment = {**llvm_tools.command_environment(), "OBJECT": str(path)}
        try:
            done = run_command(["/bin/sh", "-c", text], CHECK_SECONDS, env=environment, check=False)
        except subprocess.TimeoutExpired:
            return f"it takes more than {CHECK_SECONDS} s"
        if done.returncode == 0:
            return ""
        said = (done.stderr or done.stdout).strip()[-_MAX_CHARACTERS:]
        said = said.replace(str(path), "{}")  # Hides the temporary file.
        return f"exit code {done.returncode}" + (f": {said}" if said else "")

    return check


def program_check(validator: ProgramValidator) -> Check:
    """Returns a check that links a program, runs it, and compares its output."""

    def check(path: Path) -> str:
        return "; ".join(str(error) for error in validator.errors_of(path))

    return check


@dataclass(frozen=True)
class Input:
    """A source to compile.

    Attributes:
        name: The name without the suffix.
        path: A C or C++ source, textual IR or bitcode.
        check: Checks an object file of the input; None without a check.
        is_for_size: True if its functions are marked for size. clang marks those of C and C++.
        apart: For a whole program, the object files of its parts compiled one by one.
        validator: Links the program and runs it on its inputs; None if there are none.
    """

    name: str
    path: Path
    check: Check | None = None
    is_for_size: bool = False
    apart: tuple[ObjectFile, ...] = ()
    validator: ProgramValidator | None = None


def known_program(datasets: Datasets, uri: str, folder: Path, for_size: bool = True) -> Input:
    """Returns a program of a dataset, and writes its bitcode to a folder.

    The bitcode is ``NAME.input.bc``. For size, its functions are marked as clang does, so that the
    result is the same as that of the source.

    Raises:
        Exception: Any error of :meth:`Datasets.benchmark`.
        BenchmarkInitError: If ``opt`` cannot mark the functions.
        OSError: If the file cannot be written.
    """
    benchmark = datasets.benchmark(uri)
    name = _name(benchmark)
    path = folder / f"{name}.input.bc"
    attributes = ["optsize", "minsize"] if for_size else []
    add_attributes(benchmark.proto.program.contents, path, attributes)
    validator = _validator_of(benchmark.validation_callbacks())
    check = program_check(validator) if validator else None
    return Input(name, path, check, is_for_size=for_size, validator=validator)


def _name(benchmark: Benchmark) -> str:
    return benchmark.uri.path.strip("/").replace("/", "-") or benchmark.uri.dataset


def _validator_of(callbacks: Sequence[object]) -> ProgramValidator | None:
    return next((each for each in callbacks if isinstance(each, ProgramValidator)), None)


# The sources of a project, read from the file ``compile_commands.json`` of its build.

FILE_NAME = "compile_commands.json"
"""The name by which build systems write it."""


@dataclass(frozen=True)
class ProjectSource:
    """A source of a project.

    Attributes:
        folder: The folder in which the build compiles it.
        source: The source, relative to that folder or absolute.
        options: The options of the build, without the level of optimisation.
        output: The object file, relative to the folder of the project's object files.
    """

    folder: Path
    source: str
    options: tuple[str, ...]
    output: Path

    @property
    def is_cxx(self) -> bool:
        """True if the source is C++ rather than C."""
        language = self.options[self.options.index("-x") + 1] if "-x" in self.options else ""
        return "c++" in language or Path(self.source).suffix not in (".c", ".i")


def read_compile_commands(path: Path) -> list[ProjectSource]:
    """Reads the sources of a project.

    Args:
        path: The file.

    Returns:
        The sources in the order of the file. A source that is compiled twice to the same object
        file counts once.

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
    sources: dict[Path, ProjectSource] = {}
    for number, entry in enumerate(entries):
        try:
            source = _source_of(entry, path)
        except (KeyError, ValueError) as error:
            raise ValueError(f"entry {number} of {path}: {_text(error)}") from error
        sources.setdefault(source.output, source)
    if not sources:
        raise ValueError(f"expected compilations in {path}, found none")
    return [*sources.values()]


def _text(error: Exception) -> str:
    return f"expected a key {error}" if isinstance(error, KeyError) else str(error)


def _source_of(entry: Mapping[str, Any], path: Path) -> ProjectSource:
    command = parse_compiler_command(entry.get("arguments") or entry["command"])
    folder = path.parent / entry["directory"]
    output = Path(entry.get("output", command.output))
    inside = os.path.relpath(folder / output, path.parent)
    parts = [part for part in Path(inside).parts if part != ".."]
    return ProjectSource(
        folder.absolute(), command.sources[0].path, tuple(_options(command)), Path(*parts)
    )


def _options(command: CompilerCommand) -> Sequence[str]:
    """Returns the options of a compilation without the level, which the search chooses."""
    language = command.sources[0].language
    words = [word for option in command.options for word in option if not word.startswith("-O")]
    return [*words, *(["-x", language] if language else [])]
