"""Averages."""

import numpy as np
import pytest

from compiler_gym.util.statistics import arithmetic_mean, geometric_mean, stdev


@pytest.mark.parametrize(
    ("values", "mean"),
    [([], 0), ([0], 0), ([0, 0], 0), ([-1, 4], 0), ([3], 3), ([1, 4], 2), ([1, 10, 100], 10)],
)
def test_geometric_mean(values, mean):
    assert geometric_mean(values) == pytest.approx(mean)
    assert geometric_mean(iter(values)) == pytest.approx(mean)


def test_geometric_mean_does_not_overflow():
    assert geometric_mean(np.full(1000, 1e300)) == pytest.approx(1e300)


@pytest.mark.parametrize(("values", "mean"), [([], 0), ([-1, 4], 1.5), ((3,), 3)])
def test_arithmetic_mean(values, mean):
    assert arithmetic_mean(values) == mean


@pytest.mark.parametrize(("values", "deviation"), [([], 0), ([5], 0), ([1, 3], 1)])
def test_stdev(values, deviation):
    assert stdev(values) == deviation
