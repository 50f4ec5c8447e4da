"""The three programs that are measured: about 200, 2,000 and 20,000 IR instructions.

They are made of the C sources of the built-in programs, without running any LLVM pass, so anybody
with the same clang gets the same programs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import typer

from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    compile_source,
    link,
    run_tool,
)
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.util import llvm_tools

_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class SizedProgram:
    """A program of a certain size.

    Attributes:
        size: About how many IR instructions it has.
        kernels: The built-in programs that it consists of. If there are several, their ``main``
            functions are renamed.
        function: Take this function alone, with all that it calls; None for everything.
    """

    size: int
    kernels: tuple[str, ...]
    function: str | None = None

    @property
    def description(self) -> str:
        """A description of the program."""
        names = ", ".join(self.kernels)
        return f"{self.function}() of {names}" if self.function else f"{names}, linked"

    def make(self, folder: Path) -> Path:
        """Makes the bitcode file ``<size>.bc`` in a folder, and returns its path.

        Raises:
            EnvironmentNotSupported: If clang or another LLVM tool is not installed.
            BenchmarkInitError: If a tool fails. The text says why.
        """
        path = folder / f"{self.size}.bc"
        parts = [_compile(kernel, folder) for kernel in self.kernels]
        if self.function:
            command = [llvm_tools.llvm_extract_path(), "--recursive", f"--func={self.function}"]
            run_tool([*command, *parts, "-o", path], timeout=_TIMEOUT_SECONDS)
        else:
            link(parts, path, timeout=_TIMEOUT_SECONDS)
        return path


PROGRAMS = {
    program.size: program
    for program in (
        SizedProgram(200, ("huffman",), function="build_tree"),
        SizedProgram(2_000, ("json",), function="parse_value"),
        SizedProgram(20_000, ("huffman", "lzss", "json", "regex", "fft")),
    )
}
"""The programs by their size."""

LARGE = SizedProgram(
    30_000, ("huffman", "lzss", "json", "regex", "fft", "containers", "sha256", "graphs")
)
"""Where copying a session has to show that it does not depend on the size of the program."""


def check_sizes(sizes: Iterable[int], known: Iterable[int] = PROGRAMS) -> None:
    """Raises typer.BadParameter if there is no program of one of the sizes."""
    for unknown in set(sizes) - set(known):
        raise typer.BadParameter(
            f"There is no program of size {unknown}. There are: {', '.join(map(str, known))}"
        )


def _compile(kernel: str, folder: Path) -> Path:
    """Compiles a built-in program as its dataset does, but for the name of ``main``."""
    path = folder / f"{kernel}.bc"
    options = [*ClangInvocation.DEFAULT_COPT, "-std=c11", "-w", f"-Dmain=main_of_{kernel}"]
    invocation = ClangInvocation([*options, "program.c"], timeout=_TIMEOUT_SECONDS)
    compile_source(invocation, path, cwd=KERNELS_PATH / kernel)
    return path
