"""Inputs of a search: files, programs known by name, and checks of the outcome."""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.datasets import Benchmark, Datasets
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.envs.llvm.benchmarks.validation import ProgramValidator
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.shell_format import how_it_failed

# Checks that an object file behaves as its source does.

Check = Callable[[Path], str]
"""Takes the path of an object file. Returns what is wrong with it, nothing if it is right."""

CHECK_SECONDS = 600


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
        # Hides the temporary file.
        said = (text.replace(str(path), "{}") for text in (done.stderr, done.stdout))
        return how_it_failed(done.returncode, *said)

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
