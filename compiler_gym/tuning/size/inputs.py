"""Inputs of a compilation: files, and benchmarks given by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.datasets import Benchmark, Datasets
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.envs.llvm.benchmarks.validation import ProgramValidator
from compiler_gym.tuning.size.checks import Check, program_check
from compiler_gym.tuning.size.object_file import ObjectFile


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
