"""Compiles the source files of published datasets."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.envs.llvm.benchmarks.clang_invocation import ClangInvocation
from compiler_gym.errors import BenchmarkInitError

_COPT = ("-ferror-limit=1", "-w")
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class ClangSourceCompiler:
    """Compiles one source file to unoptimised bitcode.

    Attributes:
        copt: Options for the compiler, including the language: ``("-x", "c")``.
        preamble: Text in front of the source.
    """

    copt: Sequence[str]
    preamble: str = ""

    def __call__(self, source: Path, output: Path) -> None:
        """Compiles a file.

        Args:
            source: The source file. It can include files in the same folder.
            output: The bitcode file to write.

        Raises:
            BenchmarkInitError: If it does not compile within 300 seconds. The text has the reason.
            EnvironmentNotSupported: If clang is not installed.
        """
        args = [*ClangInvocation.DEFAULT_COPT, *_COPT, *self.copt, "-"]
        command = ClangInvocation(args).command(output.absolute())
        # The line marker sets the file name and line in messages, as without a preamble.
        marker = f'{self.preamble}\n# 1 "{source.name}"\n'
        text = marker.encode() + source.read_bytes()
        try:
            run_tool(command, timeout=_TIMEOUT_SECONDS, stdin=text, cwd=source.parent)
        except subprocess.TimeoutExpired as error:
            raise BenchmarkInitError(
                f"Compiling {source} took more than {_TIMEOUT_SECONDS} s"
            ) from error


SOURCE_COMPILERS = {
    "c": ClangSourceCompiler(("-x", "c")),
    # Clang has built-in declarations of OpenCL's functions.
    "opencl": ClangSourceCompiler(("-x", "cl", "-target", "nvptx64-nvidia-nvcl")),
    # The programs of this dataset lack their includes.
    "c++": ClangSourceCompiler(
        ("-x", "c++", "-std=c++11"), "#include <bits/stdc++.h>\nusing namespace std;"
    ),
}
"""The compilers by the language in ``published.json``."""
