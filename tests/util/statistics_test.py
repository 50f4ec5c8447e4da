"""Averages."""

import numpy as np
import pytest

from compiler_gym.util.statistics import (
    arithmetic_mean,
    clustered_interval,
    geometric_mean,
    stdev,
    student_quantile,
)


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


@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 11, 20, 100, 10_000])
def test_student_quantile(freedom):
    expected = pytest.importorskip("scipy.stats").t.ppf(0.975, freedom)
    assert student_quantile(freedom) == pytest.approx(expected, abs=1e-3)


def test_interval_covers_the_mean_as_often_as_it_says():
    """Of three numbers, and of groups whose numbers are nearly the same."""
    random = np.random.default_rng(0)
    covered = [
        low <= 0 <= high
        for centres in random.normal(size=(4000, 3))
        for low, high in [clustered_interval([c, c + 0.01, c - 0.01] for c in centres)]
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.012)
    assert clustered_interval([[1, 2, 3]]) is None
