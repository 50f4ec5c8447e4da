"""Measures what vector environments gain. See benchmarks/README.md."""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine, load_average
from benchmarks.programs import PROGRAMS, check_sizes
from benchmarks.vector import LOOP, WAYS, median_ratio, steps_per_second


def _cell(rates: Sequence[float], of_loop: Sequence[float]) -> str:
    return f"{statistics.median(rates):,.0f} ({median_ratio(rates, of_loop):.2f})"


def main(
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    count: Annotated[
        list[int] | None, typer.Option(help="How many environments. May be repeated.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Episodes of each environment.")] = 60,
) -> None:
    """Measure steps per second of several environments, by several ways to step them."""
    check_sizes(size or ())
    console, progress = Console(), Console(stderr=True)
    console.print(describe_machine(), highlight=False)
    console.print(f"load average {load_average():.2f}")
    table = Table("instructions", "environments", *WAYS)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        for each in size or (200, 2_000):
            path = PROGRAMS[each].make(Path(folder))
            for number in count or (1, 2, 4, 8):
                with progress.status(f"{number} environments on {each:,} instructions"):
                    rates = steps_per_second(path, number, rounds)
                cells = [_cell(rates[way], rates[LOOP]) for way in WAYS]
                table.add_row(f"{each:,}", str(number), *cells)
            table.add_section()
    console.print(table)
    console.print("Steps per second, median; in brackets, how many times those of the loop.")
    console.print(f"load average {load_average():.2f}")


if __name__ == "__main__":
    typer.run(main)
