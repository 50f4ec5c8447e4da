"""Averages that are defined for any list of numbers."""

from collections.abc import Iterable

import numpy as np


def geometric_mean(values: Iterable[float]) -> float:
    """Returns the geometric mean; 0 of no numbers, or if any of them is not positive."""
    array = np.asarray(list(values), dtype=np.float64)
    if array.size == 0 or np.any(array <= 0):
        return 0.0
    # By logarithms, because the product of many numbers overflows.
    return float(np.exp(np.log(array).mean()))


def arithmetic_mean(values: Iterable[float]) -> float:
    """Returns the arithmetic mean; 0 of no numbers."""
    array = np.asarray(list(values), dtype=np.float64)
    return float(array.mean()) if array.size else 0.0


def stdev(values: Iterable[float]) -> float:
    """Returns the standard deviation of a population; 0 of no numbers."""
    array = np.asarray(list(values), dtype=np.float64)
    return float(array.std()) if array.size else 0.0


def bootstrap_interval(
    values: Iterable[float],
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> tuple[float, float]:
    """Returns a confidence interval of a mean, by the percentile bootstrap.

    It assumes no distribution. SciPy has it too, but is only an optional dependency.

    Args:
        values: At least one number. The interval of a single one has no bounds.
        rng: Draws numbers with replacement.
        confidence: The probability that the interval covers the mean.
        resamples: Number of means to draw.
    """
    numbers = np.asarray(list(values), dtype=np.float64)
    if numbers.size == 1:
        return float("-inf"), float("inf")
    means = rng.choice(numbers, size=(resamples, numbers.size)).mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
