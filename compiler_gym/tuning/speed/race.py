"""Measures programs in turns, and gives more runs to those that look faster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.runtimes import (
    RuntimeComparison,
    compare_paired_runtimes,
    scipy_statistics,
)

T = TypeVar("T")

# How many runs each has at the end of a heat.
HEATS = (3, 6, 12, 24)
# A rank test of fewer pairs is never significant at 5 %.
_MIN_ROUNDS = 6
_RESAMPLES = 2000


@dataclass
class Runner(Generic[T]):
    """A program in a race.

    Attributes:
        program: The program.
        ratios: By round, how long the reference took divided by how long this one did.
    """

    program: T
    ratios: list[float] = field(default_factory=list)

    @property
    def speedup(self) -> float:
        """The median of the ratios: above 1 if it is faster than the reference."""
        return float(np.median(self.ratios))

    def compare(self) -> RuntimeComparison:
        """Compares it with the reference."""
        return compare_paired_runtimes(self.ratios, [1.0] * len(self.ratios), resamples=_RESAMPLES)


@dataclass(frozen=True)
class Result(Generic[T]):
    """The result of a race.

    Attributes:
        winner: The program that is significantly faster than the reference; None if none is.
        runners: Those that have not failed at once, with their ratios.
    """

    winner: Runner[T] | None
    runners: list[Runner[T]]


class Stopwatch(Generic[T]):
    """Runs programs in turns.

    Args:
        seconds: Runs a program, and says how long it took.
        rng: Draws who begins.
        is_over: Whether there is no time for another round.
    """

    def __init__(
        self,
        seconds: Callable[[T], float],
        rng: np.random.Generator,
        is_over: Callable[[], bool] = lambda: False,
    ):
        self._seconds = seconds
        self._rng = rng
        self._is_over = is_over

    def race(self, reference: T, programs: Sequence[T]) -> Result[T]:
        """Finds the fastest of programs that are faster than another one.

        After each heat at least half of them are out: those that look slowest, and those that do
        not look faster than the reference. What the last one won by is more than it deserves, as
        the luckiest of several is chosen: measure it again.

        Args:
            reference: What they are compared with; it runs in each round.
            programs: The programs. One that fails is out.
        """
        runners = [Runner(each) for each in programs]
        left = runners
        for rounds in HEATS:
            left = self._run_heat(reference, left, rounds)
            faster = sorted((each for each in left if each.speedup > 1), key=_slowness)
            left = faster[: max(1, len(left) // 2)]
            if not left:
                break
        first = left[0] if left else None
        is_faster = first is not None and len(first.ratios) >= _MIN_ROUNDS
        winner = first if first and is_faster and first.compare().is_significant else None
        return Result(winner, [each for each in runners if each.ratios])

    def _run_heat(self, reference: T, left: list[Runner[T]], rounds: int) -> list[Runner[T]]:
        """Runs programs until each has had so many rounds; returns those that have not failed."""
        while left and len(left[0].ratios) < rounds and not self._is_over():
            times = self.round([reference, *(each.program for each in left)])
            base = times[0]
            if base is None:
                return []
            rest = zip(left, times[1:], strict=True)
            met = [(each, time) for each, time in rest if time is not None]
            for each, time in met:
                each.ratios.append(base / time)
            left = [each for each, _ in met]
        return [each for each in left if each.ratios]

    def round(self, programs: Sequence[T]) -> list[float | None]:
        """Runs each program once, in a random order. Returns their seconds, None if one fails."""
        times: list[float | None] = [None] * len(programs)
        for index in self._rng.permutation(len(programs)):
            try:
                times[index] = self._seconds(programs[index])
            except ValueError:
                continue
        return times

    def compare(
        self, first: T, second: T, pairs: int, watch: Callable[[int], None] = lambda _: None
    ) -> tuple[list[float], list[float]]:
        """Runs two programs in turns; as many pairs as there is time for.

        Args:
            first: A program.
            second: Another one.
            pairs: How often each is to run.
            watch: Called after each pair with how many there were.

        Returns:
            The seconds of the runs of the first and of the second, by pair. None at all if one
            fails.
        """
        before: list[float] = []
        after: list[float] = []
        while len(before) < pairs and not self._is_over():
            one, other = self.round([first, second])
            if one is None or other is None:
                return [], []
            before.append(one)
            after.append(other)
            watch(len(before))
        return before, after


def check_statistics() -> None:
    """Checks that runs can be compared.

    Raises:
        EnvironmentNotSupported: If SciPy is not installed. The text says how to install it.
    """
    try:
        scipy_statistics()
    except ImportError as error:
        raise EnvironmentNotSupported(str(error)) from error


def _slowness(runner: Runner[T]) -> float:
    return -runner.speedup
