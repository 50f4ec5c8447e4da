"""Compares what generated programs print with and without the plugin of one run.

For x86-64 and AArch64, the programs are those of the other trials, of which 20 % come from Csmith
and the kernels. For processors without a system, all come from Csmith, and run in an emulator of
Linux with a small library of their own. So these need nothing but clang, LLD, Csmith and qemu::

    bazel run //tests/tuning/size:one_run_trials -- --target thumb --count 100

A program that prints something else than with ``clang -Oz`` is wrong. Programs that take too long,
or about which plain compilers do not agree, are left out.
"""

import argparse
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.changes.targets import TARGETS
from compiler_gym.tuning.size.one_run import one_run_options
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.runfiles_path import runfiles_path
from tests.tuning.size.codegen_trials import csmith_program, generated_program
from tests.tuning.size.trial import AARCH64, STATIC, X86_64, Target, Trial

_LIBRARY = runfiles_path("tests/tuning/size/codegen/bare.c")
_SECONDS = 600
_RUN_CPU_SECONDS = 5
_CSMITH_HEADERS = "/usr/include/csmith"
_HEADERS = {
    "assert.h": "",
    "math.h": "float fabsf(float); double fabs(double);",
    "stdio.h": "int printf(const char *, ...);",
    "string.h": "int strcmp(const char *, const char *);"
    "void *memcpy(void *, const void *, __SIZE_TYPE__); void *memset(void *, int, __SIZE_TYPE__);",
}
_HOSTED = {"x86_64": X86_64, "aarch64": AARCH64}
_ARM = ("--target=armv7a-none-eabi", "-mfloat-abi=soft")


@dataclass(frozen=True)
class Bare:
    """A machine without a system.

    Attributes:
        options: The options of clang that choose it.
        library: The options for the library.
        emulator: The emulator of Linux.
    """

    options: tuple[str, ...]
    library: tuple[str, ...]
    emulator: str


_BARE = {
    "thumb": Bare(TARGETS["thumb"].options, _ARM, "qemu-arm"),
    "thumbv6m": Bare(TARGETS["thumbv6m"].options, _ARM, "qemu-arm"),
    "riscv32": Bare(TARGETS["riscv32"].options, TARGETS["riscv32"].options, "qemu-riscv32"),
}


def try_bare(bare: Bare, seed: int, plugin: Sequence[str], folder: Path) -> str:
    """Tries a program of Csmith. Returns the result: "same", "wrong", "unchanged" or "left out"."""
    for name, text in _HEADERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "program.c").write_text(csmith_program(seed, "--no-float"), encoding="utf-8")
    (folder / "library.o").write_bytes(_library(bare))
    plain, expected = _run_bare(bare, ["-Oz"], folder)
    if expected is None:
        return "left out"
    small, got = _run_bare(bare, ["-Oz", *plugin], folder)
    if got == expected:
        return "unchanged" if small == plain else "same"
    return "wrong" if _run_bare(bare, ["-O1"], folder)[1] == expected else "left out"


@cache
def _library(bare: Bare) -> bytes:
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        path = Path(name) / "library.o"
        words = [llvm_tools.clang_path(), *bare.library, "-O1", "-fno-builtin", "-w", "-c"]
        run_command([*words, _LIBRARY, "-o", path], _SECONDS)
        return path.read_bytes()


def _run_bare(
    bare: Bare, options: Sequence[str], folder: Path
) -> tuple[bytes, tuple[str, int] | None]:
    """Returns the object file of a program, and what it prints; None if it takes too long."""
    made, linked = folder / "program.o", folder / "program"
    words = [llvm_tools.clang_path(), *bare.options, *options, "-w", "-isystem", folder]
    words += ["-isystem", _CSMITH_HEADERS, "-c", folder / "program.c"]
    run_command([*words, "-o", made], _SECONDS)
    linker = llvm_tools.tool_path("ld.lld")
    run_command([linker, made, folder / "library.o", "-o", linked], _SECONDS)
    limit = ["prlimit", f"--cpu={_RUN_CPU_SECONDS}", "--"]
    done = run_command([*limit, bare.emulator, linked], _SECONDS, check=False)
    is_endless = done.returncode == -signal.SIGKILL
    return made.read_bytes(), None if is_endless else (done.stdout, done.returncode)


def try_hosted(target: Target, seed: int, plugin: Sequence[str], folder: Path) -> str:
    """Tries a program with the library of C of a system. Returns the result as try_bare() does."""
    program = generated_program(seed, target)
    places = [folder / name for name in ("small", "plain")]
    for each in places:
        each.mkdir()
    try:
        small = Trial(program, target, STATIC, places[0], ("-Oz", *plugin))
        expected = small.expected()
        small.failures(lambda _: [], expected)
        if not small.left_out:
            return "same"
        plain = Trial(program, target, STATIC, places[1], ("-Oz",))
        plain.failures(lambda _: [], expected)
    except (AssertionError, BenchmarkInitError, CommandError, subprocess.TimeoutExpired):
        return "left out"
    return "left out" if plain.left_out else "wrong"


def main() -> None:
    """Tries programs, and prints the number of each result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--target", choices=sorted(TARGETS), required=True)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="the number of seeds")
    parser.add_argument("--model", type=Path, help="a model; by default the shipped one")
    arguments = parser.parse_args()
    model = arguments.model
    plugin = one_run_options(f"-oz-model={model.resolve()}" if model else "")
    counts: Counter[str] = Counter()
    for seed in range(arguments.first, arguments.first + arguments.count):
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            if arguments.target in _BARE:
                result = try_bare(_BARE[arguments.target], seed, plugin, Path(name))
            else:
                result = try_hosted(_HOSTED[arguments.target], seed, plugin, Path(name))
        counts[result] += 1
        if result == "wrong" or seed % 20 == 19:
            print(seed, result, dict(counts), flush=True)
    print(arguments.target, dict(counts))


if __name__ == "__main__":
    main()
