"""Averages of any list of numbers, and comparison of the runtimes of two programs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler_gym.util.optional_packages import require


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


# The 97.5 % quantiles of Student's t for 1 to 10 degrees of freedom (Abramowitz and Stegun,
# Handbook of Mathematical Functions, table 26.10).
_STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
_NORMAL = 1.959964


def student_quantile(freedom: int) -> float:
    """Returns the 97.5 % quantile of Student's t, the bound of a two-sided 95 % interval.

    Right to three digits. SciPy has it too, but is only an optional dependency.

    Args:
        freedom: Degrees of freedom, at least 1.
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    # Abramowitz and Stegun, 26.7.5.
    z = _NORMAL
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def clustered_interval(groups: Iterable[Sequence[float]]) -> tuple[float, float] | None:
    """Returns a 95 % confidence interval of a mean of numbers, of which those of a group are alike.

    By Student's t and the variance between groups (Cameron and Miller, "A Practitioner's Guide to
    Cluster-Robust Inference", Journal of Human Resources 50, 2015). With one number in each group
    it is the usual interval, which covers the mean of a normal distribution as often as it says,
    even with three numbers. The percentile bootstrap of three covers it in 74 % of cases.

    Args:
        groups: The numbers of each group.

    Returns:
        The bounds; None with fewer than two groups.
    """
    arrays = [np.asarray(group, dtype=np.float64) for group in groups if len(group)]
    if len(arrays) < 2:
        return None
    numbers = np.concatenate(arrays)
    mean = numbers.mean()
    squares = sum(float((group - mean).sum()) ** 2 for group in arrays)
    error = (len(arrays) / (len(arrays) - 1) * squares) ** 0.5 / numbers.size
    margin = student_quantile(len(arrays) - 1) * error
    return float(mean - margin), float(mean + margin)


# Statistical comparison of the runtimes of two programs.

# With more pairs, the normal approximation is as good as the exact distribution.
_MAX_EXACT_PAIRS = 2500


@dataclass(frozen=True)
class RuntimeComparison:
    """The comparison of two programs' runtimes.

    Attributes:
        speedup: The median of the first program's runtimes divided by that of the second's: above
            1 if the second is faster.
        low: The lower bound of the confidence interval of the speedup.
        high: The upper bound.
        p_value: The probability of so large a difference between equal programs, by a two-sided
            rank test.
        confidence: The confidence of the interval, and 1 minus the level of significance.
    """

    speedup: float
    low: float
    high: float
    p_value: float
    confidence: float

    @property
    def is_significant(self) -> bool:
        """True if the difference is larger than noise explains."""
        return self.p_value < 1 - self.confidence


def compare_runtimes(
    before: Sequence[float],
    after: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RuntimeComparison:
    """Compares the runtimes of two programs, e.g. two ``Runtime`` observations.

    The interval is the percentile bootstrap of the ratio of medians: the medians of resamples,
    drawn with replacement from the measurements of each program. The test is that of Mann and
    Whitney.

    Args:
        before: Seconds of each run of the first program.
        after: Seconds of each run of the second.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: The number of resamples.
        seed: The seed of the resampling. Equal arguments give equal results.

    Raises:
        ValueError: If there are fewer than two measurements of a program, one is not positive, or
            another argument is out of range.
        ImportError: If SciPy is not installed; it is the extra ``statistics`` of this package.
    """
    first, second = _checked(before), _checked(after)
    _check_interval(confidence, resamples)
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
        p_value=mann_whitney_p_value(first.tolist(), second.tolist()),
        confidence=confidence,
    )


def compare_paired_runtimes(
    before: Sequence[float],
    after: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RuntimeComparison:
    """Compares the runtimes of two programs that ran in turns.

    A temporary slowdown of the machine affects both runs of a pair, so their ratio is more precise
    than the separate runtimes. The speedup is the median of the ratios, its interval the percentile
    bootstrap of that, and the p-value of the two-sided Wilcoxon signed-rank test of their
    logarithms.

    Args:
        before: Seconds of each run of the first program.
        after: Seconds of the paired run of the second program.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: The number of resamples.
        seed: The seed of the resampling.

    Raises:
        ValueError: If the programs have different numbers of runs, and the errors of
            :func:`compare_runtimes`.
        ImportError: If SciPy is not installed; it is the extra ``statistics`` of this package.
    """
    first, second = _checked(before), _checked(after)
    if first.size != second.size:
        raise ValueError(f"Expected pairs, not {first.size} and {second.size} runtimes")
    _check_interval(confidence, resamples)
    ratios = first / second
    random = np.random.default_rng(seed)
    medians = np.median(random.choice(ratios, (resamples, ratios.size)), axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return RuntimeComparison(
        speedup=float(np.median(ratios)),
        low=float(low),
        high=float(high),
        p_value=_wilcoxon_p_value(np.log(ratios)),
        confidence=confidence,
    )


def mann_whitney_p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns the two-sided p-value of the Mann-Whitney U test.

    That is the chance, if both samples are from one distribution, that a value of one is greater
    than a value of the other in as uneven a number of pairs. It is exact for at most 2500 pairs
    without ties, and otherwise by the normal approximation, corrected for ties and continuity.

    Raises:
        ValueError: If a sample is empty.
        ImportError: If SciPy is not installed; it is the extra ``statistics`` of this package.
    """
    mannwhitneyu = scipy_statistics().mannwhitneyu
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not a.size or not b.size:
        raise ValueError("A sample is empty")
    different = np.unique(np.concatenate([a, b])).size
    if different == 1:
        return 1.0
    is_exact = different == a.size + b.size and a.size * b.size <= _MAX_EXACT_PAIRS
    method = "exact" if is_exact else "asymptotic"
    return float(mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def scipy_statistics() -> Any:
    """Returns SciPy's module of tests.

    Raises:
        ImportError: If SciPy is not installed. The text says how to install it.
    """
    return require("scipy.stats", ImportError)


def _wilcoxon_p_value(differences: np.ndarray) -> float:
    wilcoxon = scipy_statistics().wilcoxon
    # The test is undefined if there is no difference at all.
    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0


def _check_interval(confidence: float, resamples: int) -> None:
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError(
            f"Expected a confidence between 0 and 1 and at least 1 resample, not {confidence} and "
            f"{resamples}"
        )


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
