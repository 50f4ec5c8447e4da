"""Features of a source that are cheap to compute: sizes of its object file, counts of its IR."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from compiler_gym.envs.llvm import tools
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.util.commands import run_command

_SECONDS = 60
_SMALL = 32
_COUNT = re.compile(r"^(\w+): (\d+)$", re.M)
_COUNT_COMMAND = (
    "-passes=print<func-properties>",
    "-enable-detailed-function-properties",
    "-disable-output",
)


def object_features(found: ObjectFile, loaded: int) -> dict[str, float]:
    """Returns the features of an object file: logarithms of sizes, and shares from 0 to 1.

    Args:
        found: The object file, as clang makes it without a change.
        loaded: All bytes of it that are loaded.
    """
    sizes = np.array([*found.functions.values()] or [0], dtype=np.float64)
    text = max(found.text, 1)
    return {
        "log_text": float(np.log1p(found.text)),
        "linker_share": 1 - found.all / max(loaded, 1),
        "text_share": found.text / max(loaded, 1),
        "log_functions": float(np.log1p(len(found.functions))),
        "log_mean_function": float(np.log1p(sizes.mean())),
        "largest_share": float(sizes.max()) / text,
        "small_share": float(sizes[sizes < _SMALL].sum()) / text,
    }


def ir_features(unit: Path) -> dict[str, float]:
    """Returns counts of bitcode on which no pass has run, per instruction.

    The names are those of LLVM's function properties. Returns nothing if ``opt`` cannot count
    them. Takes about as long as the compilation of a small source.
    """
    try:
        done = run_command([tools.opt_path(), *_COUNT_COMMAND, unit], timeout=_SECONDS)
    except subprocess.SubprocessError:
        return {}
    return normalised_counts(done.stderr + done.stdout)


def normalised_counts(text: str) -> dict[str, float]:
    """Returns the sums of the counts that LLVM prints for functions, per instruction."""
    totals: dict[str, float] = {}
    for name, count in _COUNT.findall(text):
        totals[name] = totals.get(name, 0) + int(count)
    instructions = max(totals.pop("TotalInstructionCount", 0), 1)
    shares = {name: total / instructions for name, total in totals.items()}
    return {**shares, "log_instructions": float(np.log1p(instructions))} if totals else {}


def vector_of(features: Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    """Returns features as float64 [names]; those that are unknown are 0."""
    return np.array([features.get(name, 0.0) for name in names], dtype=np.float64)
