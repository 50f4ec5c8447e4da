"""The programs of a hunt."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import numpy as np
from cachetools import LRUCache

from compiler_gym.datasets import Benchmark, Dataset, Datasets
from compiler_gym.datasets.uri import names_dataset
from compiler_gym.envs.llvm.benchmarks.bitcode import assemble
from compiler_gym.envs.llvm.benchmarks.validation import (
    ProgramRun,
    ProgramValidator,
    ReferenceValidator,
)
from compiler_gym.errors import ValidationError

_MAX_REMEMBERED = 1024
_ASSEMBLE_SECONDS = 60
_BITCODE = b"BC\xc0\xde"


class CompiledProgram:
    """A program in files, with the part of an environment's interface that validation uses.

    Attributes:
        benchmark: The benchmark.
        path: The current bitcode.
    """

    def __init__(self, benchmark: Benchmark, unoptimised: Path, path: Path):
        self.benchmark = benchmark
        self.path = path
        self._unoptimised = unoptimised

    def write_input(self, path: Path) -> Path:
        """Writes the unoptimised program to a file, and returns its path."""
        shutil.copyfile(self._unoptimised, path)
        return path

    def commandline(self) -> str:
        """Not available: opt has already run, and only its result is validated here."""
        raise NotImplementedError(
            "expected a source, got a compiled program, whose build is unknown"
        )

    def write_bitcode(self, path: Path) -> Path:
        """Writes the current program to a file, and returns its path."""
        shutil.copyfile(self.path, path)
        return path


class Programs:
    """Draws programs, and rejects useless ones. It is thread-safe.

    Args:
        datasets: The datasets.
        uris: URIs of datasets and programs. All have the same probability.

    Raises:
        LookupError: If there is no such dataset.
        ValueError: If a URI is malformed.
        DatasetInitError: If a dataset cannot be installed.
    """

    def __init__(self, datasets: Datasets, uris: Iterable[str]):
        self._datasets = datasets
        self._sources: list[Dataset | str] = [
            datasets.require(uri) if names_dataset(uri) else uri for uri in uris
        ]
        self._verdicts: LRUCache[str, str | None] = LRUCache(_MAX_REMEMBERED)
        self._lock = Lock()

    def draw(self, rng: np.random.Generator) -> Benchmark:
        """Returns a program.

        Raises:
            Exception: Any error of :meth:`Dataset.random_benchmark`.
        """
        source = self._sources[int(rng.integers(len(self._sources)))]
        if isinstance(source, str):
            return self._datasets.benchmark(source)
        return source.random_benchmark(rng)

    def why_useless(self, benchmark: Benchmark, unoptimised: Path) -> str | None:
        """Returns the reason that a program is useless; None if it is useful.

        Args:
            benchmark: The program.
            unoptimised: Its bitcode.
        """
        uri = str(benchmark.uri)
        with self._lock:
            if uri in self._verdicts:
                return self._verdicts[uri]
        error = wrong_output(benchmark, unoptimised, unoptimised)
        verdict = None if error is None else f"{error.type} without any pass"
        with self._lock:
            self._verdicts[uri] = verdict
        return verdict


def wrong_output(
    benchmark: Benchmark, unoptimised: Path, optimised: Path
) -> ValidationError | None:
    """Returns the error in the behaviour of a program; None if none is known.

    Args:
        benchmark: Its benchmark, with the commands to run it.
        unoptimised: Its bitcode before all passes.
        optimised: Its bitcode after the passes.
    """
    for callback in benchmark.running_callbacks():
        for error in callback(CompiledProgram(benchmark, unoptimised, optimised)) or ():
            return error
    return None


def write_bitcode(benchmark: Benchmark, path: Path) -> None:
    """Writes a program to a bitcode file, also one that is given as textual IR.

    Raises:
        BenchmarkInitError: If the program cannot be read.
    """
    contents = benchmark.proto.program.contents
    if contents.startswith(_BITCODE):
        path.write_bytes(contents)
        return
    text = path.with_suffix(".txt")
    text.write_bytes(contents)
    assemble(text, path, _ASSEMBLE_SECONDS)


def runs_of(benchmark: Benchmark) -> list[ProgramRun]:
    """Returns the runs of a program for a script; empty if only its callbacks can run it."""
    runs: list[ProgramRun] = []
    for callback in benchmark.validation_callbacks():
        if isinstance(callback, ProgramValidator | ReferenceValidator):
            runs += callback.runs
    return runs


def linker_options_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Returns the linker options of a program."""
    options: dict[str, None] = {}
    for callback in benchmark.validation_callbacks():
        if isinstance(callback, ProgramValidator | ReferenceValidator):
            options |= dict.fromkeys(callback.linker_options)
    return tuple(options)
