"""Output of LLVM's tools: code sizes and textual IR."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.util import llvm_tools

CLANG_SIZES = {"ObjectTextSizeO3": "-O3", "ObjectTextSizeOz": "-Oz"}
"""Baselines that are clang's own, and its option."""


def text_size(path: Path) -> int:
    """The column text of llvm-size in Berkeley format."""
    command = [llvm_tools.llvm_size_path(), path]
    reply = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(reply.stdout.splitlines()[1].split()[0])


def size_by_clang(source: Path, level: str, options: Sequence[str] = ()) -> int:
    """Bytes that ``clang -c`` makes of a source."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "program.o")
        command = [llvm_tools.clang_path(), level, "-c", "-w", *options, source, "-o", output]
        subprocess.run(command, check=True)
        return text_size(output)


def ir_of(program: Benchmark | Path) -> str:
    """The textual IR of a benchmark or a bitcode file."""
    bitcode = (
        program.proto.program.contents if isinstance(program, Benchmark) else program.read_bytes()
    )
    command = [llvm_tools.llvm_dis_path(), "-", "-o", "-"]
    return run_tool(command, timeout=60, stdin=bitcode).decode()
