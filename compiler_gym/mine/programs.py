"""Programs to mine: benchmarks, files, and the sources of a ``compile_commands.json``."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.datasets import BenchmarkUri, Datasets
from compiler_gym.envs.llvm import tools
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.inputs import known_program
from compiler_gym.util.commands import CommandError, run_command

DATABASE = "compile_commands.json"
_COMPILE_SECONDS = 600

# Options of a compile command that say what to write, with and without a value in the next word.
_DROPPED_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-MJ")
_DROPPED = ("-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-pipe")


@dataclass(frozen=True)
class Program:
    """A program that can be mined.

    Attributes:
        name: Its name in tables: a URI or the path of a file.
        command: The command of a compilation database; empty for a benchmark.
        folder: The folder in which that is run.
    """

    name: str
    command: tuple[str, ...] = ()
    folder: str = "."

    def write(self, datasets: Datasets, folder: Path) -> Path:
        """Writes bitcode on which no pass has run, whose functions are marked for size.

        Raises:
            Exception: Any error of :meth:`Datasets.benchmark`.
            BenchmarkInitError: If the program does not compile.
        """
        if not self.command:
            return known_program(datasets, self.name, folder).path
        path = folder / "unit.bc"
        stop = ["-Oz", "-g0", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-w"]
        try:
            run_command([*self.command, *stop, "-o", path], _COMPILE_SECONDS, cwd=self.folder)
        except CommandError as error:
            raise BenchmarkInitError(f"{self.name} does not compile. {error.said}") from error
        return path


def programs_of_dataset(datasets: Datasets, name: str) -> Iterator[Program]:
    """Yields the program of a URI, or all programs of the dataset that it names.

    Raises:
        LookupError: If there is no such dataset.
    """
    if BenchmarkUri.from_string(name).path.strip("/"):
        yield Program(name)
    else:
        yield from map(Program, datasets.require(name).benchmark_uris())


def programs_of_database(path: Path) -> list[Program]:
    """Returns the C and C++ sources of a compilation database.

    Raises:
        ValueError: If the file is not a compilation database.
        OSError: If it cannot be read.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        found = [_program_of(each) for each in entries]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"expected a list of commands with 'directory', 'file' and 'command' or 'arguments' "
            f"in {path}, got something else ({error}); try the {DATABASE} that CMake or bear write"
        ) from error
    return [*dict.fromkeys(found)]


def _program_of(entry: dict[str, Any]) -> Program:
    words = [*entry["arguments"]] if "arguments" in entry else shlex.split(entry["command"])
    folder = Path(entry["directory"])
    is_cxx = entry["file"].endswith((".cc", ".cpp", ".cxx", ".C", ".c++"))
    clang = str(tools.tool_path("clang++" if is_cxx else "clang"))
    return Program(str(folder / entry["file"]), (clang, *_kept(words[1:])), str(folder))


def _kept(words: list[str]) -> Iterator[str]:
    """Yields the words of a command that do not say what to write."""
    rest = iter(words)
    for word in rest:
        if word in _DROPPED_WITH_VALUE:
            next(rest, None)
        elif word not in _DROPPED and not word.startswith(("-O", "-g", "-flto")):
            yield word
