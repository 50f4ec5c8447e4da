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
