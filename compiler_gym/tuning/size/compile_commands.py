"""The sources of a project, read from the file ``compile_commands.json`` of its build."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.envs.llvm.benchmarks.compiler_command import (
    CompilerCommand,
    parse_compiler_command,
)

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
