"""Targets of the plugin for one run of clang, and programs that are compiled for them."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkUri, Datasets
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    bitcode_made_once,
    compile_source,
)
from compiler_gym.envs.llvm.datasets.kernels_dataset import KernelsDataset
from compiler_gym.envs.llvm.datasets.opensource_dataset import OpenSourceDataset
from compiler_gym.errors.nearest_names import unknown_name

# The headers of a C library of Linux expect these. The code of files is compiled, but never runs.
_AS_ON_LINUX = ("-D__linux__=1", "-D__unix__=1", "-D__gnu_linux__=1")


@dataclass(frozen=True)
class Target:
    """A target.

    Attributes:
        options: The options of clang that choose it.
        macros: The options that define macros for headers.
    """

    options: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()

    def compiled(self, datasets: Datasets, uri: str, headers: Sequence[Path] = ()) -> Benchmark:
        """Compiles a program of ``kernels-v0`` or ``opensource-v0`` for the target.

        Args:
            datasets: Those of an LLVM environment.
            uri: The URI of the program.
            headers: The folders with the headers of C and C++ libraries. By default clang knows.

        Raises:
            BenchmarkInitError: If it does not compile.
            LookupError: If there is no such program.
        """
        if not self.options:
            return datasets.benchmark(uri)
        parsed = BenchmarkUri.from_string(uri)
        dataset = datasets.dataset(parsed)
        if not isinstance(dataset, KernelsDataset | OpenSourceDataset):
            raise LookupError(f"expected a program of kernels-v0 or opensource-v0, got {uri}")
        invocation, folder = dataset.invocation(parsed)
        includes = [word for each in headers for word in ("-isystem", str(each))]
        words = [*self.options, *self.macros, *invocation.args, *includes]
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            path = Path(name) / "program.bc"
            command = ClangInvocation(words, timeout=invocation.timeout)
            contents = bitcode_made_once(
                path, uri, lambda output: compile_source(command, output, cwd=folder)
            )
            return Benchmark.from_file_contents(uri, contents)


TARGETS: Mapping[str, Target] = {
    "x86_64": Target(),
    "aarch64": Target(("--target=aarch64-linux-gnu",)),
    "thumb": Target(("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"), _AS_ON_LINUX),
    "thumbv6m": Target(("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0plus"), _AS_ON_LINUX),
    "riscv32": Target(
        ("--target=riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32"), _AS_ON_LINUX
    ),
}
"""Targets by the names of their models."""


def target_named(name: str) -> Target:
    """Returns a target.

    Raises:
        LookupError: If there is no such target.
    """
    if name not in TARGETS:
        raise unknown_name("target", name, TARGETS)
    return TARGETS[name]
