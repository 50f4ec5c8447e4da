"""The built-in programs: small real C programs with inputs and expected outputs."""

import shlex
from collections.abc import Hashable, Iterator
from functools import cached_property
from pathlib import Path

from compiler_gym.datasets import (
    Benchmark,
    BenchmarkSource,
    BenchmarkUri,
    BenchmarkWithSource,
    Dataset,
)
from compiler_gym.datasets.benchmark import fingerprint_of_file
from compiler_gym.datasets.uri import run_number
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    bitcode_made_once,
    compile_source,
    key_of_bitcode,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_dynamic_config
from compiler_gym.envs.llvm.benchmarks.validation import (
    ProgramRun,
    ProgramValidator,
    validate_against_opt,
)
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import runfiles_path

KERNELS = "benchmark://kernels-v0"
"""The name of the dataset of the built-in programs."""

KERNELS_PATH = runfiles_path("compiler_gym/data/kernels-v0")
"""One folder for each program: ``program.c``, ``input-N.txt``, ``expected-N.txt`` and, once the
package has been built, ``program.bc``."""

_BITCODE = "program.bc"

INPUT_SETS = 2
"""Number of inputs of each program, N = 0 and 1."""

_COPT = ("-std=c11", "-w")
_COMPILE_TIMEOUT_SECONDS = 60


def kernel_names() -> list[str]:
    """Returns the names of the built-in programs, in alphabetical order."""
    return sorted(path.name for path in KERNELS_PATH.iterdir() if path.is_dir())


class KernelsDataset(Dataset):
    """Small real C programs with inputs and expected outputs.

    The package contains the bitcode of each program. In a source tree without a build, the
    installed clang compiles a program on first use to the same bitcode, which is kept in the site
    data folder. The parameter ``dataset`` of the URI selects the input for the ``Runtime``
    observation, the first by default: ``benchmark://kernels-v0/sha256?dataset=1`` has the second
    one. Validation uses all inputs.

    Args:
        site_data_base: The folder for bitcode.
        sort_order: Datasets are listed by this number.
        kernels_path: The folder of the programs.
    """

    def __init__(
        self, site_data_base: Path, sort_order: int = 0, kernels_path: Path = KERNELS_PATH
    ):
        super().__init__(
            name=KERNELS,
            description="Small real C programs with inputs and expected outputs",
            license="MIT",
            site_data_base=site_data_base,
            benchmark_class=BenchmarkWithSource,
            sort_order=sort_order,
            validatable="Yes",
            runnable="Yes",
            source="built in",
        )
        self._kernels_path = kernels_path

    @property
    def size(self) -> int:
        """The number of programs."""
        return len(self._names)

    def benchmark_uris(self) -> Iterator[str]:  # type: ignore[override]  # The base adds part.
        """Iterates over the URIs of the programs, by name."""
        prefix = self.name
        return (f"{prefix}/{name}" for name in self._names)

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: If there is no such program.
            ValueError: If the URI has a parameter other than ``dataset``, or its value is not the
                number of an input.
            BenchmarkInitError: If the program does not compile.
            EnvironmentNotSupported: If the program has to be compiled and clang is not installed.
        """
        kernel = self._kernel(uri)
        runs = [
            ProgramRun(kernel / f"input-{number}.txt", kernel / f"expected-{number}.txt")
            for number in range(INPUT_SETS)
        ]
        stdin = runs[run_number(uri, INPUT_SETS)].stdin
        source = BenchmarkSource("program.c", (kernel / "program.c").read_bytes())
        proto = BenchmarkProto(
            uri=str(uri),
            program=File(contents=self._bitcode(uri, source)),
            dynamic_config=make_dynamic_config(
                run=f"./a.out < {shlex.quote(str(stdin))} > output.txt",
                infiles=[str(stdin)],
                outfiles=["output.txt"],
            ),
        )
        return BenchmarkWithSource(
            proto,
            validation_callbacks=[validate_against_opt, ProgramValidator(runs)],
            sources=[source],
        )

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Equal keys mean equal benchmarks."""
        kernel = self._kernels_path / uri.path.removeprefix("/")
        source = fingerprint_of_file(kernel / "program.c")
        if (kernel / _BITCODE).is_file():
            bitcode = fingerprint_of_file(kernel / _BITCODE)
            return source and bitcode and (source, bitcode)
        return source and (source, llvm_tools.tool_version(llvm_tools.clang_path()))

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns true if there is such a program. Compiles nothing."""
        try:
            run_number(uri, INPUT_SETS)
        except ValueError:
            return False
        return self._has(uri.path.removeprefix("/"))

    def invocation(self, uri: BenchmarkUri) -> tuple[ClangInvocation, Path]:
        """Returns the compilation of a program, and the folder that it runs in.

        Raises:
            LookupError: If there is no such program.
        """
        options = [*ClangInvocation.DEFAULT_COPT, *_COPT]
        invocation = ClangInvocation([*options, "program.c"], timeout=_COMPILE_TIMEOUT_SECONDS)
        return invocation, self._kernel(uri)

    def _kernel(self, uri: BenchmarkUri) -> Path:
        self._check_own(uri)
        name = uri.path.removeprefix("/")
        if not self._has(name):
            raise unknown_name("benchmark", uri, self.benchmark_uris())
        return self._kernels_path / name

    def _has(self, name: str) -> bool:
        return "/" not in name and (self._kernels_path / name / "program.c").is_file()

    @cached_property
    def _names(self) -> list[str]:
        # Listing them takes longer than most resets.
        return sorted(path.parent.name for path in self._kernels_path.glob("*/program.c"))

    def _bitcode(self, uri: BenchmarkUri, source: BenchmarkSource) -> bytes:
        """Returns the unoptimised bitcode of a program. Compiles it if necessary."""
        invocation, kernel = self.invocation(uri)
        if (kernel / _BITCODE).is_file():
            return (kernel / _BITCODE).read_bytes()
        key = key_of_bitcode(shlex.join(invocation.args[:-1]), source.contents)
        path = self.site_data_path / f"{kernel.name}-{key}.bc"
        return bitcode_made_once(
            path, kernel.name, lambda output: compile_source(invocation, output, cwd=kernel)
        )
