"""Sums up random searches: one for each folder with results in a folder of them.

python -m compiler_gym.bin.random_eval --output_dir=FOLDER
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from compiler_gym.cli.console import print_table
from compiler_gym.cli.options import program_name
from compiler_gym.compat.absl_flags import flags
from compiler_gym.compat.programs.flags_program import no_arguments, start
from compiler_gym.compat.random_agents import METADATA, PROGRESS
from compiler_gym.util.flags import output_dir as _output_dir  # noqa: F401, defines the flag.
from compiler_gym.util.runfiles_path import create_user_logs_dir
from compiler_gym.util.statistics import arithmetic_mean, geometric_mean


def main(argv: list[str]) -> None:
    """Prints a table of all searches below the folder."""
    no_arguments(argv)
    given = flags.FLAGS.output_dir
    folder = Path(given) if given else create_user_logs_dir("random_search").parent
    paths = sorted(folder.rglob(METADATA))
    rows = [row for path in paths if (row := _row_of(path)) is not None]
    if not rows:
        raise ValueError(f"There are no results of random searches below {folder}")
    means = (("Geometric mean", geometric_mean), ("Average", arithmetic_mean))
    print_table([*rows, *(_mean_row(rows, heading, mean) for heading, mean in means)])


def _mean_row(
    rows: list[dict[str, Any]], heading: str, mean: Callable[[list[float]], float]
) -> dict[str, Any]:
    """Returns a row with the mean of each column of numbers."""
    numbers = {
        name: mean([row[name] for row in rows])
        for name, value in rows[0].items()
        if isinstance(value, int | float)
    }
    return {**dict.fromkeys(rows[0], None), **numbers, "benchmark": heading}


def _row_of(path: Path) -> dict[str, Any] | None:
    """Returns what a search has found, or None if it has not ended."""
    metadata = json.loads(path.read_text())
    if "best_reward" not in metadata:
        return None
    with (path.parent / PROGRESS).open(newline="") as file:
        improvements = list(csv.DictReader(file))
    last = improvements[-1] if improvements else {}
    return {
        "benchmark": program_name(metadata["benchmark"]),
        "env": metadata["env"],
        "steps": metadata["total_step_count"],
        "episodes": metadata["total_episode_count"],
        "seconds": metadata["runtime_seconds"],
        "found at": float(last.get("runtime_seconds", 0)),
        "actions": int(last.get("num_passes", 0)),
        "reward": float(metadata["best_reward"]),
    }


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
