"""Averages, and comparisons of run times."""

import sys

import numpy as np
import pytest

from compiler_gym.util.statistics import (
    arithmetic_mean,
    clustered_interval,
    compare_paired_runtimes,
    compare_runtimes,
    geometric_mean,
    mann_whitney_p_value,
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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Of the 10 ways to choose 2 of 5 places, 1 has the two greatest: 2 * 1/10.
        ([4.0, 5.0], [1.0, 2.0, 3.0], 0.2),
        # 1 of 20 ways, twice.
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 0.1),
        # U is 1: the ways with U of 0 and 1, one each, twice.
        ([1.0, 2.0, 4.0], [3.0, 5.0, 6.0], 0.2),
        # U is at its mean: every arrangement is at least as uneven.
        ([1.0, 4.0], [2.0, 3.0], 1.0),
    ],
)
def test_exact_p_value(first, second, expected):
    assert mann_whitney_p_value(first, second) == pytest.approx(expected)
    assert mann_whitney_p_value(second, first) == pytest.approx(expected)


def test_p_value_with_ties():
    # U is 0.5 of 9. The values 2 occur twice: the variance is 9 / 12 * (7 - 6 / 30) = 5.1, and
    # the distance from the mean, less a half for continuity, 3.5: 1.5498 deviations.
    assert mann_whitney_p_value([1, 1.5, 2], [2, 3, 4]) == pytest.approx(0.12118, abs=1e-4)


def test_large_samples_are_approximated():
    # All of 60 are smaller than all of 60: as unlikely as 9.4 deviations.
    assert 0 < mann_whitney_p_value(np.arange(60), np.arange(60, 120)) < 1e-20


def test_p_values_are_uniform_without_a_difference():
    random = np.random.default_rng(1)
    values = [mann_whitney_p_value(*random.normal(0, 1, (2, 12))) for _ in range(500)]
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.08


def test_faster_program():
    random = np.random.default_rng(2)
    result = compare_runtimes(random.normal(2, 0.02, 30), random.normal(1, 0.01, 30))
    assert result.speedup == pytest.approx(2, abs=0.03)
    assert result.low < result.speedup < result.high
    assert result.high - result.low < 0.1
    assert result.is_significant


def test_interval_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(4)
    results = [
        compare_runtimes(
            random.normal(1.5, 0.1, 25), random.normal(1, 0.1, 25), resamples=500, confidence=0.9
        )
        for _ in range(200)
    ]
    assert 0.82 < np.mean([result.low <= 1.5 <= result.high for result in results]) < 0.97


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(ImportError, match=r"pip install 'compiler_gym\[statistics\]'"):
        compare_runtimes([1.0, 2.0], [1.0, 2.0])


def test_pairs_see_through_a_machine_that_becomes_slower():
    random = np.random.default_rng(4)
    slower = np.linspace(1, 3, 30)
    before = slower * random.normal(1.05, 0.005, 30)
    after = slower * random.normal(1, 0.005, 30)
    result = compare_paired_runtimes(before, after)
    assert result.speedup == pytest.approx(1.05, abs=0.01)
    assert 1.04 < result.low < result.speedup < result.high < 1.06
    assert result.is_significant
    assert not compare_runtimes(before, after).is_significant


def test_exact_p_value_of_pairs():
    # All six differences have one sign: 2 of the 64 ways to choose signs are as uneven.
    before, after = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6], [1.0] * 6
    assert compare_paired_runtimes(before, after).p_value == pytest.approx(2 / 64)
    assert compare_paired_runtimes(after, before).p_value == pytest.approx(2 / 64)
    assert compare_paired_runtimes(after, after).p_value == 1


def test_p_values_of_pairs_are_uniform_without_a_difference():
    random = np.random.default_rng(5)
    values = [
        compare_paired_runtimes(*random.normal(1, 0.05, (2, 14)), resamples=10).p_value
        for _ in range(500)
    ]
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.08
