"""Whether one program is really faster than another."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

# Beyond these many pairs the normal approximation is as good as the exact distribution.
_MAX_EXACT_PAIRS = 2500


@dataclass(frozen=True)
class RuntimeComparison:
    """What measurements say about two programs.

    Attributes:
        speedup: The median of the first program's runtimes divided by that of the second's: above
            1 if the second is faster.
        low: The lower bound of the confidence interval of the speedup.
        high: The upper bound.
        p_value: How likely measurements that differ this much are if the programs do not: by the
            two-sided Mann-Whitney U test.
        confidence: The confidence of the interval, and 1 minus the level of significance.
    """

    speedup: float
    low: float
    high: float
    p_value: float
    confidence: float

    @property
    def is_significant(self) -> bool:
        """Whether the programs differ by more than noise explains."""
        return self.p_value < 1 - self.confidence


def compare_runtimes(
    before: Sequence[float],
    after: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RuntimeComparison:
    """Compares the runtimes of two programs, e.g. two ``Runtime`` observations.

    The interval is the percentile bootstrap of the ratio of medians: the medians of measurements
    drawn anew, with replacement, from those of each program.

    Args:
        before: Seconds of each run of the first program.
        after: Seconds of each run of the second.
        confidence: Of the interval, between 0 and 1.
        resamples: How often to draw.
        seed: Of the random numbers; the result is the same for the same arguments.

    Raises:
        ValueError: If there are fewer than two measurements of a program, one is not positive, or
            another argument is out of range.
    """
    first, second = _checked(before), _checked(after)
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError(
            f"Expected a confidence between 0 and 1 and at least 1 resample, not {confidence} and "
            f"{resamples}"
        )
    random = np.random.default_rng(seed)
    medians = [
        np.median(random.choice(values, (resamples, values.size)), axis=1)
        for values in (first, second)
    ]
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians[0] / medians[1], [tail, 1 - tail])
    return RuntimeComparison(
        speedup=float(np.median(first) / np.median(second)),
        low=float(low),
        high=float(high),
        p_value=mann_whitney_p_value(first, second),
        confidence=confidence,
    )


def mann_whitney_p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns the two-sided p-value of the Mann-Whitney U test.

    That is the chance, if both samples are from one distribution, that a value of one is greater
    than a value of the other in as uneven a number of pairs. It is exact for at most 2500 pairs
    without ties, and otherwise by the normal approximation, corrected for ties and continuity.

    Raises:
        ValueError: If a sample is empty.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not a.size or not b.size:
        raise ValueError("A sample is empty")
    greater = np.count_nonzero(a[:, None] > b) + np.count_nonzero(a[:, None] == b) / 2
    pairs = a.size * b.size
    smaller = min(greater, pairs - greater)
    counts = np.unique(np.concatenate([a, b]), return_counts=True)[1]
    if pairs <= _MAX_EXACT_PAIRS and counts.max() == 1:
        arrangements = _arrangements(a.size, b.size)
        tail = sum(arrangements[: int(smaller) + 1])
        return float(min(1.0, 2 * tail / sum(arrangements)))
    total = a.size + b.size
    ties = (counts.astype(float) ** 3 - counts).sum() / (total * (total - 1))
    variance = pairs / 12 * (total + 1 - ties)
    if variance == 0:  # All values are the same.
        return 1.0
    distance = max(0.0, pairs / 2 - smaller - 0.5)
    return float(erfc(distance / sqrt(2 * variance)))


def _arrangements(first: int, second: int) -> list[int]:
    """In how many orders of both samples the statistic is 0, 1, ..., first * second.

    These are the coefficients of the Gaussian binomial, the product of (1 - x^(first + i)) /
    (1 - x^i) for i from 1 to second.
    """
    counts = [1] + [0] * (first * second)
    for i in range(1, second + 1):
        for power in range(len(counts) - 1, first + i - 1, -1):
            counts[power] -= counts[power - first - i]
        for power in range(i, len(counts)):
            counts[power] += counts[power - i]
    return counts


def _checked(runtimes: Sequence[float]) -> np.ndarray:
    values = np.asarray(runtimes, dtype=float)
    if (
        values.ndim != 1
        or values.size < 2
        or not np.all(values > 0)
        or not np.isfinite(values).all()
    ):
        raise ValueError(f"Expected at least two positive runtimes of a program, not {runtimes}")
    return values
