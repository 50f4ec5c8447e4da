"""Measures what the environment costs, and prints it as one table. See benchmarks/README.md."""

import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.env_benchmark import FULL, QUICK, Effort, EnvBenchmark, Group
from benchmarks.machine import describe_machine, describe_service, load_average
from benchmarks.programs import PROGRAMS, check_sizes
from benchmarks.table import Result, to_markdown, to_rich
from compiler_gym.util.runfiles_path import find_service_binary


def measure(
    size: int,
    service: Path,
    replay: Path,
    effort: Effort,
    groups: Collection[Group] = tuple(Group),
) -> Result:
    """Makes the program of a size, and measures groups of rows on it."""
    program = PROGRAMS[size]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        path = program.make(Path(folder))
        benchmark = EnvBenchmark(path, service, replay, effort)
        return Result(benchmark.instructions, program.description, benchmark.run(groups))


def report(
    sizes: list[int],
    service: Path,
    replay: Path,
    effort: Effort,
    groups: Collection[Group] = tuple(Group),
) -> tuple[str, list[Result]]:
    """Measures on programs of several sizes.

    Returns:
        What was measured where, as Markdown, and the results.
    """
    progress = Console(stderr=True)
    before = load_average()
    results = []
    for size in sizes:
        with progress.status(f"Measuring on {size:,} instructions"):
            results.append(measure(size, service, replay, effort, groups))
    lines = [
        f"- {describe_machine()}; {describe_service(service)}",
        f"- load average {before:.2f} before, {load_average():.2f} after the measurements",
        *(f"- {result.instructions:,} instructions: {result.description}" for result in results),
    ]
    return "\n".join(lines) + "\n", results


def show(header: str, results: list[Result]) -> None:
    """Prints a report: as a table with lines in a terminal, else as Markdown."""
    console = Console()
    if console.is_terminal:
        console.print(header, highlight=False)
        console.print(to_rich(results))
    else:
        print(f"{header}\n{to_markdown(results)}", end="")


def main(
    quick: Annotated[bool, typer.Option(help="Take few samples, to see whether it works.")] = False,
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    rows: Annotated[
        list[Group] | None, typer.Option(help="Measure this group of rows. May be repeated.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="A file to write the table to, as Markdown.")
    ] = None,
    service: Annotated[Path | None, typer.Option(help="The service's executable.")] = None,
    replay: Annotated[Path | None, typer.Option(help="The executable of Replay.cc.")] = None,
) -> None:
    """Measure what steps, resets, forks and observations cost."""
    check_sizes(size or ())
    header, results = report(
        size or list(PROGRAMS),
        service or find_service_binary("compiler_gym-llvm-service"),
        replay or find_service_binary("Replay", package="benchmarks/llvm_service"),
        QUICK if quick else FULL,
        rows or tuple(Group),
    )
    if output:
        # Bazel runs programs in a folder of its own.
        folder = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
        (folder / output).write_text(f"{header}\n{to_markdown(results)}", encoding="utf-8")
    show(header, results)


if __name__ == "__main__":
    typer.run(main)
