"""Measures what it costs that every session is a process. See benchmarks/README.md."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.isolation import COLUMNS, IsolationBenchmark
from benchmarks.machine import describe_machine, describe_service, load_average
from benchmarks.measurements import Summary
from benchmarks.programs import LARGE, PROGRAMS, check_sizes
from compiler_gym.util.runfiles_path import find_service_binary


def comparison(results: dict[int, dict[str, dict[str, Summary]]]) -> Table:
    """Durations by program size, by what was done, and by how sessions are kept apart."""
    table = Table("instructions", "p50 / p90 in µs", *COLUMNS)
    for size, rows in results.items():
        for row, columns in rows.items():
            cells = [f"{columns[name].p50:.1f} / {columns[name].p90:.1f}" for name in COLUMNS]
            table.add_row(f"{size:,}", row, *cells)
        table.add_section()
    return table


def main(
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    sessions: Annotated[int, typer.Option(help="How many to open at the same time.")] = 500,
    samples: Annotated[int, typer.Option(help="Of each duration.")] = 2000,
    seconds: Annotated[float, typer.Option(help="For what is measured by the clock.")] = 10,
    service: Annotated[Path | None, typer.Option(help="The service's executable.")] = None,
) -> None:
    """Measure what session processes and the direct channel cost and save."""
    known = {**PROGRAMS, LARGE.size: LARGE}
    check_sizes(size or (), known)
    console, progress = Console(), Console(stderr=True)
    service = service or find_service_binary("compiler_gym-llvm-service")
    console.print(f"{describe_machine()}; {describe_service(service)}", highlight=False)
    console.print(f"load average {load_average():.2f}")
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        programs = {each: known[each] for each in size or known}
        paths = {size: program.make(Path(folder)) for size, program in programs.items()}
        on = {size: IsolationBenchmark(path, service) for size, path in paths.items()}
        results = {}
        for size, benchmark in on.items():
            with progress.status(f"Measuring on {size:,} instructions"):
                results[size] = benchmark.compare(max(samples * 200 // size, 100))
        console.print(comparison(results))
        with progress.status("Empty, slow and parallel steps"):
            empty = on[min(on)].empty_steps(samples)
            median, share = on[max(on)].slow_steps(seconds)
            scalings = {
                size: benchmark.scaling(seconds / 5, rounds=2) for size, benchmark in on.items()
            }
        console.print(f"an empty step of a Session: {empty.p50:.1f} µs, p90 {empty.p90:.1f} µs")
        console.print(
            f"while a step takes {median:.1f} ms the client uses {share:.1%} of a processor"
        )
        for size, scaling in scalings.items():
            console.print(
                f"{size:,} instructions: two environments, {scaling.factor:.2f} times the steps; "
                f"one keeps {scaling.busy_with_one:.2f} processors busy, two "
                f"{scaling.busy_with_two:.2f}"
            )
        with progress.status(f"{sessions} sessions"):
            many = on[min(on)].many_sessions(sessions)
        console.print(many)
    console.print(f"load average {load_average():.2f}")


if __name__ == "__main__":
    typer.run(main)
