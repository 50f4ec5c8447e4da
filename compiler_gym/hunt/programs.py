"""The programs that a hunt tries passes on."""

import shutil
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, Datasets
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
    """A program that is in files: what the validation of benchmarks needs of an environment.

    Attributes:
        benchmark: What it was made of.
        path: The bitcode as it is now.
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
        """There is none: opt has been run already, and is not what is validated here."""
        raise NotImplementedError("A compiled program does not know how it was made")

    def write_bitcode(self, path: Path) -> Path:
        """Writes the program as it is now to a file, and returns its path."""
        shutil.copyfile(self.path, path)
        return path


class Programs:
    """Draws programs, and says which of them are of use. Threads may share an object.

    Args:
        datasets: Where programs are looked up.
        uris: Of datasets, and of programs. Each is drawn as often as the others.

    Raises:
        LookupError: If there is no such dataset.
        ValueError: If a URI is malformed.
        DatasetInitError: If a dataset cannot be installed.
    """

    def __init__(self, datasets: Datasets, uris: Iterable[str]):
        self._datasets = datasets
        self._sources: list[Dataset | str] = [
            uri if BenchmarkUri.from_string(uri).path.strip("/") else datasets.require(uri)
            for uri in uris
        ]
        self._verdicts: OrderedDict[str, str | None] = OrderedDict()

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
        """Returns why nothing can be learned from a program; None if something can be.

        Args:
            benchmark: The program.
            unoptimised: Its bitcode.
        """
        uri = str(benchmark.uri)
        if uri not in self._verdicts:
            error = wrong_output(benchmark, unoptimised, unoptimised)
            verdict = None if error is None else f"{error.type} without any pass"
            self._verdicts[uri] = verdict
            if len(self._verdicts) > _MAX_REMEMBERED:
                self._verdicts.popitem(last=False)
            return verdict
        return self._verdicts[uri]


def wrong_output(
    benchmark: Benchmark, unoptimised: Path, optimised: Path
) -> ValidationError | None:
    """Returns what is wrong with what a program does, if anything is and one can tell.

    Args:
        benchmark: Its benchmark, which knows how to run it.
        unoptimised: Its bitcode before all passes.
        optimised: Its bitcode now.
    """
    for callback in benchmark.running_callbacks():
        for error in callback(CompiledProgram(benchmark, unoptimised, optimised)) or ():
            return error
    return None


def write_bitcode(benchmark: Benchmark, path: Path) -> None:
    """Writes a program to a bitcode file, also one that is given as textual IR.

    Raises:
        BenchmarkInitError: If that cannot be read.
    """
    contents = benchmark.proto.program.contents
    if contents.startswith(_BITCODE):
        path.write_bytes(contents)
        return
    text = path.with_suffix(".txt")
    text.write_bytes(contents)
    assemble(text, path, _ASSEMBLE_SECONDS)


def runs_of(benchmark: Benchmark) -> list[ProgramRun]:
    """Returns how a program can be run by a script; none if only its own callbacks know."""
    runs: list[ProgramRun] = []
    for callback in benchmark.validation_callbacks():
        if isinstance(callback, ProgramValidator | ReferenceValidator):
            runs += callback.runs
    return runs


def linker_options_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Returns the options that a program is linked with."""
    options: dict[str, None] = {}
    for callback in benchmark.validation_callbacks():
        if isinstance(callback, ProgramValidator | ReferenceValidator):
            options |= dict.fromkeys(callback.linker_options)
    return tuple(options)
