"""Datasets of random programs, each generated from a seed."""

import shutil
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from compiler_gym.datasets import (
    Benchmark,
    BenchmarkSource,
    BenchmarkUri,
    BenchmarkWithSource,
    Dataset,
)
from compiler_gym.datasets.parts import check_part
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    assemble,
    compile_source,
    run_tool,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_dynamic_config
from compiler_gym.envs.llvm.benchmarks.validation import ReferenceValidator, validate_against_opt
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import BenchmarkDynamicConfig, File
from compiler_gym.util import llvm_tools

SEEDS = 2**32
"""The number of programs of each generator. Seeds have 32 bits."""

# Folders used by Debian and Ubuntu, by other prefixes, and by Csmith's own installation.
_CSMITH_HEADERS = ("include/csmith", "include/csmith-2.3.0", "include")
_CSMITH_OPTIONS = ("-w", "-ferror-limit=1")

_TIMEOUT_SECONDS = 60

# Repeated resets to a program do not generate it again.
_KEPT_PROGRAMS = 64


class GeneratedDataset(Dataset):
    """Random programs, one for each seed: ``generator://csmith-v0/42``.

    A version of a generator always makes the same program from a seed. There are :data:`SEEDS`
    programs; ``size`` is 0, as for all unlimited datasets. Nothing is stored on disk.

    Args:
        site_data_base: Not used.
        sort_order: Datasets are listed by this number.
    """

    NAME: ClassVar[str]
    """The full name of the dataset."""

    def benchmark_uris(self) -> Iterator[str]:  # type: ignore[override]  # The base adds part.
        """Iterates over the URIs of the programs, by seed."""
        return (f"{self.name}/{seed}" for seed in range(SEEDS))

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns true if a URI has a valid seed. Does not generate the program."""
        try:
            self._seed_of(uri)
        except ValueError:
            return False
        return True

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            ValueError: The path of the URI is not a seed.
            Exception: Any error of :meth:`benchmark_from_seed`.
        """
        self._check_own(uri)
        return self.benchmark_from_seed(self._seed_of(uri))

    def random_benchmark(
        self, random_state: np.random.Generator | None = None, part: str | None = None
    ) -> Benchmark:
        """Returns the program of a random seed.

        Args:
            random_state: The source of randomness. None for a new one.
            part: Same as in :meth:`benchmark_uris`.

        Raises:
            ValueError: There is no such part.
            Exception: Any error of :meth:`benchmark_from_seed`.
        """
        check_part(part, self.name)
        generator = random_state if random_state is not None else np.random.default_rng()
        seed = int(generator.integers(SEEDS))
        while part not in (None, self.part_of(f"{self.name}/{seed}")):
            seed = int(generator.integers(SEEDS))
        return self.benchmark_from_seed(seed)

    def benchmark_from_seed(self, seed: int) -> Benchmark:
        """Returns the program of a seed.

        Args:
            seed: From 0 to 2³² - 1.

        Raises:
            ValueError: The seed is out of range.
            EnvironmentNotSupported: A program that this needs is not installed.
            BenchmarkInitError: The generator fails, or its program does not compile.
        """
        if not 0 <= seed < SEEDS:
            raise ValueError(f"The seed of {self.name} must be from 0 to {SEEDS - 1}, not {seed}")
        uri = f"{self.name}/{seed}"
        try:
            source, bitcode = self._make(seed)
        except subprocess.TimeoutExpired as error:
            raise BenchmarkInitError(
                f"Making {uri} took more than {_TIMEOUT_SECONDS} s: use another seed"
            ) from error
        return self._benchmark(
            BenchmarkProto(
                uri=uri, program=File(contents=bitcode), dynamic_config=self._dynamic_config()
            ),
            source,
        )

    @abstractmethod
    def _make(self, seed: int) -> tuple[BenchmarkSource, bytes]:
        """Returns the source of a program, and its bitcode."""

    def _dynamic_config(self) -> BenchmarkDynamicConfig | None:
        """Returns the commands to run the programs; None if they cannot be run."""
        return None

    def _benchmark(self, proto: BenchmarkProto, source: BenchmarkSource) -> Benchmark:
        return BenchmarkWithSource(
            proto, validation_callbacks=[validate_against_opt], sources=[source]
        )

    def _seed_of(self, uri: BenchmarkUri) -> int:
        text = uri.path.removeprefix("/")
        if uri.params or not (text.isascii() and text.isdecimal()) or int(text) >= SEEDS:
            raise ValueError(
                f"There is no benchmark {uri}: write {self.name}/N, with a seed N from 0 to "
                f"{SEEDS - 1}"
            )
        return int(text)


class CsmithBenchmark(BenchmarkWithSource):
    """A random C program by Csmith."""


class CsmithDataset(GeneratedDataset):
    """Random C programs that print a checksum of their results.

    Csmith (Yang et al., "Finding and Understanding Bugs in C Compilers", PLDI 2011) generates them
    without undefined behaviour, so passes must not change the checksum. Validation compares it with
    that of the unoptimised program, and reports programs that never end. ``csmith`` and ``clang``
    must be installed.
    """

    NAME = "generator://csmith-v0"

    def __init__(self, site_data_base: str | Path | None = None, sort_order: int = 0):
        super().__init__(
            name=self.NAME,
            description="Random C programs that print a checksum",
            license="BSD",
            site_data_base=site_data_base,
            benchmark_class=CsmithBenchmark,
            references={
                "Paper": "https://doi.org/10.1145/1993498.1993532",
                "Homepage": "https://embed.cs.utah.edu/csmith/",
            },
            sort_order=sort_order,
            validatable="Yes",
            runnable="Yes",
            source="csmith",
        )

    @property
    def installed(self) -> bool:
        """True if the program ``csmith`` is installed."""
        return shutil.which("csmith") is not None

    def _make(self, seed: int) -> tuple[BenchmarkSource, bytes]:
        source, bitcode = _csmith(csmith_path(), llvm_tools.clang_path(), seed)
        return BenchmarkSource("program.c", source), bitcode

    def _dynamic_config(self) -> BenchmarkDynamicConfig | None:
        return make_dynamic_config(run="./a.out > output.txt", outfiles=["output.txt"])

    def _benchmark(self, proto: BenchmarkProto, source: BenchmarkSource) -> Benchmark:
        return CsmithBenchmark(
            proto,
            validation_callbacks=[validate_against_opt, ReferenceValidator()],
            sources=[source],
        )


class LlvmStressDataset(GeneratedDataset):
    """Random functions in textual IR, generated by LLVM's ``llvm-stress``.

    They cannot be run. Their purpose is to find passes that crash. Each version of LLVM generates
    other programs from the same seeds.
    """

    NAME = "generator://llvm-stress-v0"

    def __init__(self, site_data_base: str | Path | None = None, sort_order: int = 0):
        super().__init__(
            name=self.NAME,
            description="Random functions in LLVM's textual IR",
            license="Apache License v2.0 with LLVM Exceptions",
            site_data_base=site_data_base,
            benchmark_class=BenchmarkWithSource,
            references={"Documentation": "https://llvm.org/docs/CommandGuide/llvm-stress.html"},
            sort_order=sort_order,
            runnable="No",
            source="llvm-stress",
        )

    def _make(self, seed: int) -> tuple[BenchmarkSource, bytes]:
        source, bitcode = _llvm_stress(
            llvm_tools.llvm_stress_path(), llvm_tools.llvm_as_path(), seed
        )
        return BenchmarkSource("program.ll", source), bitcode


@lru_cache(_KEPT_PROGRAMS)
def _csmith(csmith: Path, clang: Path, seed: int) -> tuple[bytes, bytes]:
    """Returns a program in C and its bitcode. The compiler is part of the cache key."""
    del clang
    with tempfile.TemporaryDirectory(prefix="compiler_gym-csmith-") as name:
        folder = Path(name)
        source = csmith_source(csmith, seed)
        (folder / "program.c").write_bytes(source)
        options = [
            *ClangInvocation.DEFAULT_COPT,
            *_CSMITH_OPTIONS,
            f"-I{headers_of_csmith(csmith)}",
        ]
        invocation = ClangInvocation([*options, "program.c"], timeout=_TIMEOUT_SECONDS)
        compile_source(invocation, folder / "program.bc", cwd=folder)
        return source, (folder / "program.bc").read_bytes()


def csmith_source(csmith: Path, seed: int) -> bytes:
    """Returns a program in C. Raises the errors of :func:`run_tool`."""
    # Csmith also writes a file to the working directory.
    with tempfile.TemporaryDirectory(prefix="compiler_gym-csmith-") as folder:
        command: list[str | Path] = [csmith, "--seed", str(seed)]
        return run_tool(command, timeout=_TIMEOUT_SECONDS, cwd=Path(folder))


@lru_cache(_KEPT_PROGRAMS)
def _llvm_stress(llvm_stress: Path, llvm_as: Path, seed: int) -> tuple[bytes, bytes]:
    """Returns a program in textual IR and its bitcode. The assembler is part of the cache key."""
    del llvm_as
    with tempfile.TemporaryDirectory(prefix="compiler_gym-llvm-stress-") as name:
        path = Path(name, "program.ll")
        run_tool([llvm_stress, f"--seed={seed}", "-o", path], timeout=_TIMEOUT_SECONDS)
        assemble(path, path.with_suffix(".bc"), timeout=_TIMEOUT_SECONDS)
        return path.read_bytes(), path.with_suffix(".bc").read_bytes()


def csmith_path() -> Path:
    """Returns the path of ``csmith``. Raises EnvironmentNotSupported if it is not installed."""
    path = shutil.which("csmith")
    if path is None:
        raise EnvironmentNotSupported(
            "'csmith' is not installed, which generator://csmith-v0 needs. Install it, on Debian "
            "and Ubuntu with 'apt-get install csmith libcsmith-dev'"
        )
    return Path(path).resolve()


def headers_of_csmith(csmith: Path) -> Path:
    """Returns the folder of Csmith's headers.

    Raises:
        EnvironmentNotSupported: If they are not installed.
    """
    folders = [csmith.parent.parent / headers for headers in _CSMITH_HEADERS]
    for folder in folders:
        if (folder / "csmith.h").is_file():
            return folder
    raise EnvironmentNotSupported(
        f"The headers of '{csmith}' are not installed: there is no csmith.h in "
        f"{', '.join(map(str, folders))}. Install them, on Debian and Ubuntu with 'apt-get install "
        "libcsmith-dev'"
    )
