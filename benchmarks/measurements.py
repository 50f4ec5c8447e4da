"""Durations, sorted by what was done and by who did it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Summary:
    """A summary of many durations, in microseconds.

    Attributes:
        p50: Half of them were shorter.
        p90: Nine of ten were shorter.
        mean: The arithmetic mean.
        samples: How many there were.
    """

    p50: float
    p90: float
    mean: float
    samples: int


class Measurements:
    """Collects durations in rows (what was done) and columns (who did it)."""

    def __init__(self):
        self._durations: dict[str, dict[str, list[float]]] = {}
        self._turn = 0

    def take_turns(
        self, jobs: Mapping[tuple[str, str], Callable[[], float]], times: int = 1
    ) -> None:
        """Lets everybody do something, one after the other, each time beginning with another.

        What slows the machine down for a while then slows down all of them alike.

        Args:
            jobs: What to do, for each row and column. Returns the duration in microseconds.
            times: How often in a row, where doing something again at once is part of the matter.
        """
        # Rows appear in the order of their first use, whoever begins.
        for row, column in jobs:
            self._durations.setdefault(row, {}).setdefault(column, [])
        order = list(jobs.items())
        first = self._turn % len(order)
        self._turn += 1
        for (row, column), job in order[first:] + order[:first]:
            self._durations[row][column].extend(job() for _ in range(times))

    def summaries(self) -> dict[str, dict[str, Summary]]:
        """Returns the summary of each cell, by row and column."""
        return {
            row: {column: summarise(durations) for column, durations in columns.items()}
            for row, columns in self._durations.items()
        }


def summarise(durations: Sequence[float]) -> Summary:
    """Returns the summary of durations in microseconds."""
    p50, p90 = np.percentile(durations, [50, 90])
    return Summary(float(p50), float(p90), float(np.mean(durations)), len(durations))
