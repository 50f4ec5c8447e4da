"""The datasets of the GCC environment: programs in C."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from compiler_gym.datasets import (
    Benchmark,
    BenchmarkSource,
    BenchmarkUri,
    BenchmarkWithSource,
    Dataset,
    Datasets,
    FilesDataset,
)
from compiler_gym.envs.gcc.gcc import Gcc
from compiler_gym.envs.llvm.benchmarks.validation import (
    ProgramRun,
    ProgramValidator,
    run_program,
)
from compiler_gym.envs.llvm.datasets import generators
from compiler_gym.envs.llvm.datasets.generators import CsmithBenchmark
from compiler_gym.envs.llvm.datasets.published import published_dataset, published_facts
from compiler_gym.errors import BenchmarkInitError, UnknownNameError, ValidationError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util.commands import CommandError
from compiler_gym.util.runfiles_path import runfiles_path, site_data_path

__all__ = ["CsmithBenchmark", "GccDatasets", "get_gcc_datasets"]

# Runs the preprocessor, so that a program needs no other files any more.

_TIMEOUT_SECONDS = 60
_OPTIONS = ("-D", "-U", "-I", "-isystem", "-std=")


def preprocess(
    gcc: Gcc, source: Path, copt: Sequence[str] = (), includes: Sequence[Path] = ()
) -> bytes:
    """Returns a source file after the preprocessor: C with the names of its files.

    Args:
        gcc: The compiler.
        source: The file. Others beside it may be included by it.
        copt: Options of the preprocessor: ``-D``, ``-U``, ``-I`` (of absolute folders),
            ``-isystem`` and ``-std=``, each in one word with what belongs to it.
        includes: Further folders of files that are included.

    Raises:
        BenchmarkInitError: If it does not compile. The text says why.
        ValueError: If an option is another. Those of the compiler are the actions.
        FileNotFoundError: If there is no such file.
    """
    for option in copt:
        if not option.startswith(_OPTIONS) or option in _OPTIONS:
            raise ValueError(
                f"{option!r} is not an option of the preprocessor: use {', '.join(_OPTIONS)} with "
                "what follows in the same word. Other options are the actions of the environment"
            )
    if not source.is_file():
        raise FileNotFoundError(f"There is no file {source}")
    source = source.absolute()
    folders = [f"-I{folder}" for folder in includes]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-gcc-") as name:
        output = Path(name, "program.i")
        # What a file includes is looked for beside it.
        arguments = [*copt, *folders, "-w", "-E", str(source), "-o", str(output)]
        try:
            gcc.run(arguments, Path(name), _TIMEOUT_SECONDS, [source.parent, *includes])
        except CommandError as error:
            raise BenchmarkInitError(f"{source} does not compile: {error.stderr}") from error
        except subprocess.TimeoutExpired as error:
            raise BenchmarkInitError(
                f"Reading {source} took more than {_TIMEOUT_SECONDS} s"
            ) from error
        # The name of its folder would tell apart what is the same program.
        return output.read_bytes().replace(f'"{source.parent}/'.encode(), b'"')


class Preprocessor:
    """Preprocesses the source files of a dataset.

    Args:
        gcc: The compiler.
    """

    def __init__(self, gcc: Gcc):
        self._gcc = gcc

    def __call__(self, source: Path, output: Path) -> None:
        """Preprocesses a file. Raises as :func:`preprocess`."""
        output.write_bytes(preprocess(self._gcc, source))


# Checks that a program that GCC has compiled does what it must.

_REFERENCE_SECONDS = 10


@dataclass(frozen=True)
class ObjectValidator:
    """A validation callback that links the object file, and compares the output of the program.

    Attributes:
        runs: The runs to make, one after the other.
    """

    runs: Sequence[ProgramRun]

    def __call__(self, env: Any) -> Iterator[ValidationError]:
        """Validates the program of an environment, a :class:`GccEnv`.

        Yields:
            As :class:`ProgramValidator`.

        Raises:
            EnvironmentNotSupported: If there is no GCC on this machine.
            ServiceError: If the program cannot be compiled.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            executable = Path(name, "a.out")
            error = _link(env, executable)
            if error:
                yield error
                return
            yield from ProgramValidator(self.runs).errors_of_executable(executable)


def compare_with_unoptimised(env: Any) -> Iterator[ValidationError]:
    """A validation callback for programs without a known output.

    It is compared with what the program prints without options of the compiler, which the
    environment then has.

    Yields:
        As :class:`ProgramValidator`. If it is the program without options that fails, nothing was
        compared, and the type ends in ``of the unoptimised program``.

    Raises:
        Exception: Any error of :class:`ObjectValidator`.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        executable, reference = Path(name, "a.out"), Path(name, "reference")
        run = ProgramRun(expected_stdout=Path(name, "expected"))
        error = _link(env, executable)
        if error:
            yield error
            return
        env.choices = [-1] * len(env.choices)
        error = _link(env, reference) or run_program(
            reference, run, run.expected_stdout, _REFERENCE_SECONDS
        )
        if error:
            yield ValidationError(f"{error.type} of the unoptimised program", error.data)
            return
        yield from ProgramValidator([run]).errors_of_executable(executable)


def _link(env: Any, executable: Path) -> ValidationError | None:
    try:
        env.write_executable(executable)
    except CommandError as error:
        return ValidationError("Compilation failed", {"stderr": str(error)})
    return None


class CsmithDataset(generators.CsmithDataset):
    """Random C programs by Csmith, preprocessed by the GCC that compiles them.

    What they print must be what it is without options of the compiler.

    Args:
        gcc: The compiler.
        site_data_base: The directory of all datasets; not used.
        sort_order: Datasets are listed by this number.
    """

    def __init__(self, gcc: Gcc, site_data_base: str | Path | None = None, sort_order: int = 0):
        super().__init__(site_data_base, sort_order)
        self._gcc = gcc

    def _make(self, seed: int) -> tuple[BenchmarkSource, bytes]:
        csmith = generators.csmith_path()
        source = generators.csmith_source(csmith, seed)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-csmith-") as name:
            path = Path(name, "program.c")
            path.write_bytes(source)
            program = preprocess(self._gcc, path, includes=[generators.headers_of_csmith(csmith)])
        return BenchmarkSource("program.c", source), program

    def _dynamic_config(self) -> None:
        """They are run when they are validated, and how that knows by itself."""

    def _benchmark(self, proto: BenchmarkProto, source: BenchmarkSource) -> Benchmark:
        return CsmithBenchmark(
            proto, validation_callbacks=[compare_with_unoptimised], sources=[source]
        )


_KERNELS_PATH = runfiles_path("compiler_gym/data/kernels-v0")
_C_LANGUAGE = "c"


class KernelsDataset(FilesDataset):
    """The built-in programs, small real ones, as C."""

    def __init__(self) -> None:
        sources = sorted(_KERNELS_PATH.glob("*/program.c"))
        super().__init__(
            benchmark_class=BenchmarkWithSource,
            validatable="Yes",
            runnable="Yes",
            name="benchmark://kernels-v0",
            description="Small real C programs",
            license="MIT",
            source="built in",
            dataset_root=_KERNELS_PATH,
            benchmark_file_suffix=".c",
            programs={path.parent.name: f"{path.parent.name}/program.c" for path in sources},
            sort_order=-2,
        )

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. Its output can be validated."""
        benchmark = super().benchmark_from_parsed_uri(uri)
        folder = _KERNELS_PATH / uri.path.removeprefix("/")
        inputs = sorted(folder.glob("input-*.txt"))
        runs = tuple(
            ProgramRun(path, path.with_name(path.name.replace("input", "expected")))
            for path in inputs
        )
        benchmark.add_source(BenchmarkSource("program.c", benchmark.proto.program.contents))
        benchmark.add_validation_callback(ObjectValidator(runs))
        return benchmark

    def fingerprint(self, uri: BenchmarkUri) -> None:
        """They are made again each time, since others of that name are bitcode."""


def get_gcc_datasets(
    gcc: Gcc | None, site_data_base: str | Path | None = None
) -> Iterator[Dataset]:
    """Makes the datasets: built-in programs, programs of Csmith, and published ones in C.

    Args:
        gcc: The compiler whose headers and preprocessor are used. None for built-in programs only.
        site_data_base: The folder where they keep their files, by default that of
            ``site_data_path()``.
    """
    base = site_data_path() if site_data_base is None else Path(site_data_base)
    yield KernelsDataset()
    if gcc is not None:
        yield CsmithDataset(gcc, base)
        for name, facts in published_facts().items():
            if facts["language"] == _C_LANGUAGE:
                yield published_dataset(name, base, compiler=Preprocessor(gcc))


class GccDatasets(Datasets):
    """Datasets by name that also know C files: ``file:///absolute/path/program.c``.

    Args:
        datasets: The datasets.
        gcc: The compiler whose preprocessor files go through. None to leave them as they are.
    """

    def __init__(self, datasets: Iterable[Dataset] = (), gcc: Gcc | None = None):
        super().__init__(datasets)
        self._gcc = gcc

    def benchmark(self, uri: str | BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. For file names, errors say how to use the file."""
        if isinstance(uri, str) and "://" not in uri and uri.endswith(".c"):
            path = Path(uri).expanduser().absolute()
            raise UnknownNameError(
                f"{uri!r} is the name of a file rather than of a benchmark: make a benchmark of "
                f"it, env.make_benchmark({uri!r}), or write its URI, 'file://{path}'"
            )
        return super().benchmark(uri)

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: If there is no such dataset, or no such benchmark in it.
            FileNotFoundError: If the URI names a file that does not exist.
            BenchmarkInitError: If a source does not compile.
            DatasetInitError: If the dataset cannot be installed.
        """
        if uri.scheme == "file" and self._gcc is not None and uri.file().suffix == ".c":
            return benchmark_of_source(self._gcc, uri.file(), uri.params.get("copt", ()), str(uri))
        return super().benchmark_from_parsed_uri(uri)


def benchmark_of_source(
    gcc: Gcc, path: Path, copt: Sequence[str] = (), uri: str | None = None
) -> Benchmark:
    """Makes a benchmark of a C file.

    Args:
        gcc: The compiler whose preprocessor it goes through.
        path: The file.
        copt: Options of the preprocessor, as of :func:`preprocess`.
        uri: The name of the benchmark, by default ``file://`` and the path.

    Raises:
        Exception: Any error of :func:`preprocess`.
    """
    path = path.expanduser().absolute()
    program = File(contents=preprocess(gcc, path, copt))
    if uri is None:
        params = {"copt": list(copt)} if copt else {}
        uri = str(BenchmarkUri("file", "", quote(os.fsencode(path)), params))
    source = BenchmarkSource(path.name, path.read_bytes())
    return BenchmarkWithSource(BenchmarkProto(uri=uri, program=program), sources=[source])
