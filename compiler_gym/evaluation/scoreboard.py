"""The metric of published tables of phase ordering: instructions saved, by the number of tries.

Papers about sequences of passes (such as arXiv 2510.13176 and 2510.13184) give the share of the IR
instructions of ``opt -Oz`` that a method saves: the mean over the programs of a set, then the mean
over sets. A fair table has a second baseline, ``-Oz`` after marking all functions for size.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler_gym.evaluation.rows import cost_ratio
from compiler_gym.util.statistics import student_quantile

BASELINES = {"Oz": "opt -Oz", "marked_Oz": "opt -Oz with marks"}
"""The keys and the descriptions of the baselines."""

PROVEN = "identical"
"""The ``opt`` of a row that counts: the real ``opt`` repeated its result, byte for byte."""

Row = Mapping[str, Any]


def cost_after(row: Row, tries: int) -> int:
    """Returns the lowest cost among the first tries of a row: instructions without passes at first.

    Args:
        row: A row of a scoreboard.
        tries: The number of tries.
    """
    costs = [cost for at, _, cost in row["curve"] if at <= tries]
    return min([row["O0"], *costs])


def seconds_after(row: Row, tries: int) -> float | None:
    """Returns the seconds of the first tries of a row, without the levels that it is compared with.

    Args:
        row: A row of a scoreboard.
        tries: The number of tries. It is rounded down to two digits.

    Returns:
        The seconds; None for a row of an earlier version, which has no times.
    """
    times: list[float] = [seconds for at, seconds in row.get("pace", ()) if at <= tries]
    return times[-1] if times else None


@dataclass(frozen=True)
class Mean:
    """A mean over sets of the mean over the programs of each.

    Attributes:
        value: The mean.
        margin: Half of its 95 % confidence interval, for other programs of the same sets; None if
            a set has one program.
    """

    value: float
    margin: float | None

    @classmethod
    def of(cls, sets: Iterable[Sequence[float]]) -> "Mean":
        """Returns the mean of numbers by set, each set with one at least.

        The margin is by Student's t, with the degrees of freedom of Welch and Satterthwaite
        (Satterthwaite, "An Approximate Distribution of Estimates of Variance Components",
        Biometrics Bulletin 2, 1946).
        """
        arrays = [np.asarray(each, dtype=np.float64) for each in sets]
        value = float(np.mean([each.mean() for each in arrays]))
        if any(each.size < 2 for each in arrays):
            return cls(value, None)
        parts = [float(each.var(ddof=1)) / each.size / len(arrays) ** 2 for each in arrays]
        variance = math.fsum(parts)
        if variance == 0:
            return cls(value, 0.0)
        terms = (part**2 / (each.size - 1) for part, each in zip(parts, arrays, strict=True))
        freedom = max(1, int(variance**2 / math.fsum(terms)))
        return cls(value, student_quantile(freedom) * math.sqrt(variance))


@dataclass(frozen=True)
class Standing:
    """The results of one method.

    Attributes:
        method: Its name.
        programs: The number of programs that count.
        left_out: The number of those that do not: the method failed, or ``opt`` did not repeat the
            result.
        larger: The number of programs that end above ``-Oz``.
        tries: The mean number of tries.
        seconds: The mean time for a program.
        pace: For each number of tries, the mean time for a program until then; None if a row has
            no times.
        code: The share of code saved against ``clang -Oz``, for the result with the fewest
            instructions. It is of the programs that have code; None if none has.
        saved: For each baseline and number of tries, the share of instructions saved.
        sets: For each set, baseline and number of tries, the same.
    """

    method: str
    programs: int
    left_out: int
    larger: int
    tries: float
    seconds: float
    pace: Mapping[int, float | None]
    code: Mean | None
    saved: Mapping[str, Mapping[int, Mean]]
    sets: Mapping[str, Mapping[str, Mapping[int, float]]]


def standings(rows: Iterable[Row], budgets: Sequence[int]) -> list[Standing]:
    """Sums up the rows of a scoreboard, the best method first.

    Args:
        rows: The rows.
        budgets: The numbers of tries to give results for.
    """
    by_method: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_method[row["method"]].append(row)
    found = []
    for method, of_method in by_method.items():
        if counted := [row for row in of_method if row.get("opt") == PROVEN]:
            found.append(_standing(method, counted, len(of_method) - len(counted), budgets))
    return sorted(found, key=lambda each: -each.saved["Oz"][budgets[-1]].value)


def _standing(method: str, rows: list[Row], left_out: int, budgets: Sequence[int]) -> Standing:
    sets: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        sets[row["set"]].append(row)

    def shares(of_set: list[Row], baseline: str, tries: int) -> list[float]:
        return [1 - cost_ratio(cost_after(row, tries), row[baseline]) for row in of_set]

    by_set = {
        name: {
            baseline: {tries: shares(of_set, baseline, tries) for tries in budgets}
            for baseline in BASELINES
        }
        for name, of_set in sets.items()
    }
    code = [
        [
            1 - cost_ratio(row["code"], row["code_Oz"])
            for row in of_set
            if None not in (row["code"], row["code_Oz"])
        ]
        for of_set in sets.values()
    ]
    return Standing(
        method=method,
        programs=len(rows),
        left_out=left_out,
        larger=sum(row["best"] > row["Oz"] for row in rows),
        tries=float(np.mean([row["tries"] for row in rows])),
        seconds=float(np.mean([row["seconds"] for row in rows])),
        pace={tries: _mean_seconds(rows, tries) for tries in budgets},
        code=Mean.of(filter(None, code)) if any(code) else None,
        saved={
            baseline: {
                tries: Mean.of(each[baseline][tries] for each in by_set.values())
                for tries in budgets
            }
            for baseline in BASELINES
        },
        sets={
            name: {
                baseline: {tries: float(np.mean(each)) for tries, each in of_tries.items()}
                for baseline, of_tries in of_baselines.items()
            }
            for name, of_baselines in by_set.items()
        },
    )


def _mean_seconds(rows: Sequence[Row], tries: int) -> float | None:
    times = [seconds for row in rows if (seconds := seconds_after(row, tries)) is not None]
    return float(np.mean(times)) if len(times) == len(rows) else None
