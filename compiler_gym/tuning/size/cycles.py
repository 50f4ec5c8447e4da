"""Estimates of the cycles of functions, by ``llvm-mca``.

The instructions of a function are modelled as a straight line that repeats. Loops, taken branches,
cache misses and called functions are ignored.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.image import Instruction, read_image
from compiler_gym.util.commands import CommandError, run_command

CALL_CYCLES = 5
"""What a call counts as."""

_ITERATIONS = 10
_SECONDS = 120

_PROCESSORS = {"x86_64": "skylake-avx512", "aarch64": "cortex-a72", "riscv64": "sifive-u74"}


def processor_of(arch: str) -> str | None:
    """Returns the modelled processor of an architecture; None if there is none."""
    return _PROCESSORS.get(arch)


def estimate_cycles(arch: str, functions: Sequence[Sequence[Instruction]]) -> list[float | None]:
    """Estimates the cycles of functions.

    Args:
        arch: LLVM's name of the architecture.
        functions: The instructions of each function.

    Returns:
        The cycles of each function. None without an estimate: if ``llvm-mca`` is missing, for other
        architectures, and for functions with instructions that are not in the model.
    """
    cycles: list[float | None] = [None] * len(functions)
    processor = processor_of(arch)
    if processor is None or not any(functions):
        return cycles
    options = [f"-mtriple={arch}-unknown-linux-gnu", f"-mcpu={processor}", "-json"]
    options += [f"-iterations={_ITERATIONS}", f"-call-latency={CALL_CYCLES}"]
    options += ["-skip-unsupported-instructions=any"]
    options += ["-instruction-info=0", "-resource-pressure=0"]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        path = Path(folder) / "functions.s"
        path.write_text("".join(map(_region, range(len(functions)), functions)), encoding="utf-8")
        try:
            done = run_command([tools.tool_path("llvm-mca"), *options, path], _SECONDS)
        except (EnvironmentNotSupported, CommandError, subprocess.TimeoutExpired):
            return cycles
    for region in json.loads(done.stdout)["CodeRegions"]:
        index, summary = int(region["Name"]), region["SummaryView"]
        known, all_of_them = summary["Instructions"] // summary["Iterations"], functions[index]
        if known == sum(map(_is_instruction, all_of_them)):
            cycles[index] = summary["TotalCycles"] / summary["Iterations"]
    return cycles


def estimate_changed_cycles(before: Path, after: Path) -> tuple[float, float] | None:
    """Estimates the cycles of all functions of two object files.

    Functions without an estimate in one of them are ignored.

    Args:
        before: An object file.
        after: Another object file of the same source.

    Returns:
        The sums of the cycles; None if there is no estimate.
    """
    try:
        images = read_image(before), read_image(after)
    except (EnvironmentNotSupported, ValueError):
        return None
    names = sorted({name for image in images for name in image.assembly})
    pairs = [[tuple(image.assembly.get(name, ())) for image in images] for name in names]
    # Most functions are equal in both.
    different = [*dict.fromkeys(function for pair in pairs for function in pair)]
    cycles = dict(zip(different, estimate_cycles(images[0].arch, different), strict=True))
    cycles[()] = 0.0
    known = [
        (old, new)
        for old, new in ((cycles[old], cycles[new]) for old, new in pairs)
        if old is not None and new is not None
    ]
    return (sum(old for old, _ in known), sum(new for _, new in known)) if known else None


def _region(index: int, instructions: Sequence[Instruction]) -> str:
    lines = [f"  {each.code}" for each in instructions if _is_instruction(each)]
    return "\n".join([f"/* LLVM-MCA-BEGIN {index} */", *lines, f"/* LLVM-MCA-END {index} */", ""])


def _is_instruction(line: Instruction) -> bool:
    """Returns True if a line is an instruction. llvm-mca would obey directives."""
    return not line.code.startswith((".", "<"))
