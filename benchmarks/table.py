"""The results as a table: Markdown for files, rich for terminals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from benchmarks.arena import COLUMNS, ENVIRONMENT, IN_PROCESS
from benchmarks.measurements import Summary

RATIO = f"{ENVIRONMENT} ÷ {IN_PROCESS}"
HEADER = ("program", "p50 / p90 / mean in µs", *COLUMNS, f"{RATIO}, p50", f"{RATIO}, mean")


@dataclass(frozen=True)
class Result:
    """The measurements on one program.

    Attributes:
        instructions: The number of IR instructions of the program.
        description: What the program is, in words.
        rows: A summary for each column, by what was measured.
    """

    instructions: int
    description: str
    rows: dict[str, dict[str, Summary]]


def cells(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """The table without its header, row by row."""
    for result in results:
        for name, columns in result.rows.items():
            durations = [_duration(columns[column]) for column in COLUMNS]
            environment, in_process = columns[ENVIRONMENT], columns[IN_PROCESS]
            ratios = (environment.p50 / in_process.p50, environment.mean / in_process.mean)
            yield (f"{result.instructions:,}", name, *durations, *map(_three_digits, ratios))


def to_markdown(results: Sequence[Result]) -> str:
    """The table as Markdown."""
    rows = [HEADER, ("---:", "---", *["---:"] * (len(HEADER) - 2)), *cells(results)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def to_rich(results: Sequence[Result]) -> Table:
    """The table for a terminal, with a line between programs."""
    table = Table()
    for number, name in enumerate(HEADER):
        table.add_column(name, justify="left" if number == 1 else "right")
    for result in results:
        for row in cells([result]):
            table.add_row(*row)
        table.add_section()
    return table


def _duration(summary: Summary) -> str:
    return " / ".join(map(_three_digits, (summary.p50, summary.p90, summary.mean)))


def _three_digits(value: float) -> str:
    """Shows no more digits than such measurements have a meaning."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:#.3g}".rstrip(".")
