"""Measures what vector environments gain. See benchmarks/README.md."""

import statistics
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine, load_average
from benchmarks.programs import PROGRAMS, check_sizes
from benchmarks.vector import LOOP, WAYS, Measured, measure, median_ratio


def _rate(measured: Measured, of_loop: Measured) -> str:
    ratio = median_ratio(measured.rates, of_loop.rates)
    return f"{statistics.median(measured.rates):,.0f} ({ratio:.2f})"


def _client(measured: Measured) -> str:
    # Single rounds are too short for the clock of other processes.
    return f"{statistics.mean(measured.client_microseconds):,.0f}"


def main(
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    count: Annotated[
        list[int] | None, typer.Option(help="How many environments. May be repeated.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Episodes of each environment.")] = 60,
    wrapped: Annotated[
        bool, typer.Option(help="With the wrappers AutophaseNorm and ActionHistogram.")
    ] = False,
    random: Annotated[
        bool, typer.Option(help="On random programs of kernels-v0, in place of sizes.")
    ] = False,
) -> None:
    """Measure several environments, by several ways to step them."""
    check_sizes(size or ())
    console, progress = Console(), Console(stderr=True)
    console.print(describe_machine(), highlight=False)
    console.print(f"load average {load_average():.2f}")
    rates = Table("instructions", "environments", *WAYS)
    clients = Table("instructions", "environments", *WAYS)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        programs: dict[str, Path | None] = (
            {"random": None}
            if random
            else {f"{each:,}": PROGRAMS[each].make(Path(folder)) for each in size or (200, 2_000)}
        )
        for name, path in programs.items():
            for number in count or (1, 2, 4, 8):
                with progress.status(f"{number} environments, {name}"):
                    measured = measure(path, number, rounds, is_wrapped=wrapped)
                names = name, str(number)
                rates.add_row(*names, *[_rate(measured[way], measured[LOOP]) for way in WAYS])
                clients.add_row(*names, *[_client(measured[way]) for way in WAYS])
            rates.add_section()
            clients.add_section()
    console.print(rates)
    console.print("Steps per second, median; in brackets, how many times those of the loop.")
    console.print(clients)
    console.print("Microseconds of processor time of the Python processes for a step, mean.")
    console.print(f"load average {load_average():.2f}")


if __name__ == "__main__":
    typer.run(main)
