"""Trains a model of the gain of changes, from a table of trials."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from typing_extensions import override

from compiler_gym.datasets import Benchmark
from compiler_gym.distributed import json_table
from compiler_gym.tuning.changes.local_training import train_calls, train_functions
from compiler_gym.tuning.changes.trials import compilation_for_size
from compiler_gym.tuning.size.compilation import Change, change_from_json
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import (
    Ranking,
    encoded,
    shipped_portfolio,
    vector_of,
    words_in,
)
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util.statistics import geometric_mean

FEATURES = (
    "log_text", "linker_share", "text_share", "log_functions", "log_mean_function",
    "largest_share", "small_share", "BasicBlockCount", "DirectCallCount", "IndirectCallCount",
    "LoadInstCount", "StoreInstCount", "TopLevelLoopCount", "FloatingPointInstructionCount",
    "SwitchInstructionCount", "ConditionalBranchCount",
)  # fmt: skip
"""The features that a model uses by default."""

_RIDGE = 40.0
_ROUNDS = 30
_LEAST_VARIANCE = 1e-8
# Limits growth: a few sources that grow by half would dominate the fit.
_CLIP = (-0.3, 0.1)

Row = Mapping[str, Any]


# The weights of code and of loaded bytes in the result of a change, one model for both objectives.
# By cross-validation over the packages of 882 programs, the first choice saves 1.29 % of code and
# 1.57 % of loaded bytes with these weights, 1.14 and 1.55 % with loaded bytes alone.
_SHARES = {"code": 0.75, "loaded": 0.25}


def results_of(row: Row) -> list[tuple[Change, float]]:
    """Returns changes of options and the logarithm of their bytes over those of the baseline."""
    return [(change_from_json(each["change"]), _result(row, each)) for each in row["changes"]]


def _result(row: Row, change: Row) -> float:
    logarithms = (
        share * np.log(max(change[kind], 1) / max(row["baseline"][kind], 1))
        for kind, share in _SHARES.items()
    )
    return float(np.clip(sum(logarithms), *_CLIP))


def train(rows: Sequence[Row], features: tuple[str, ...] = FEATURES, about: Any = None) -> Ranking:
    """Trains a model.

    Args:
        rows: Rows of a table of trials, with at least one change each.
        features: The names of the features to use; none for a model without features.
        about: The model's description of its origin.

    Raises:
        ValueError: If there are no rows.
    """
    if not rows:
        raise ValueError("expected rows with trials, got none; try a longer recording")
    results = [results_of(row) for row in rows]
    candidates = tuple(each.change for each in shipped_portfolio())
    met = {word for each in results for change, _ in each for word in words_in(change)}
    words = tuple(sorted(met | {word for each in candidates for word in words_in(each)}))
    designs = [np.stack([encoded(change, words) for change, _ in each]) for each in results]
    targets = [np.array([result for _, result in each]) for each in results]
    values = np.stack([vector_of(row["features"], features) for row in rows])
    mean, scale = values.mean(axis=0), values.std(axis=0) + 1e-9
    values = np.clip((values - mean) / scale, -3, 3)
    values = np.concatenate([values, np.ones((len(rows), 1))], axis=1)
    weights, covariance, noise = fit(designs, targets, values)
    return Ranking(
        *(words, features, mean, scale, weights, covariance, noise),
        candidates,
        train_functions(rows),
        train_calls(rows),
        about or {},
    )


def fit(
    designs: Sequence[np.ndarray], targets: Sequence[np.ndarray], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Fits a linear model with random effects, by expectation maximisation.

    Args:
        designs: Of each source float64 [trials, words].
        targets: Of each source float64 [trials].
        values: float64 [sources, features], the last of which is one.

    Returns:
        The weights float64 [features, words], the covariance of the effects, and the noise.
    """
    width = designs[0].shape[1]
    weights = np.zeros((values.shape[1], width))
    covariance, noise = np.eye(width) * 1e-4, 1e-4
    penalty = np.full(values.shape[1], _RIDGE)
    penalty[-1] = 1e-3
    gram = values.T @ values + np.diag(penalty)
    for _ in range(_ROUNDS):
        effects, spread, rest, count = [], np.zeros((width, width)), 0.0, 0
        for design, target, value in zip(designs, targets, values, strict=True):
            prior = value @ weights
            gain = covariance @ design.T
            gain = gain @ np.linalg.inv(design @ gain + noise * np.eye(len(target)))
            effect = prior + gain @ (target - design @ prior)
            uncertainty = covariance - gain @ design @ covariance
            effects.append(effect)
            spread += uncertainty
            residual = target - design @ effect
            rest += residual @ residual + np.trace(design @ uncertainty @ design.T)
            count += len(target)
        stacked = np.stack(effects)
        weights = np.linalg.solve(gram, values.T @ stacked)
        differences = stacked - values @ weights
        covariance = (spread + differences.T @ differences) / len(designs)
        noise = max(rest / count, _LEAST_VARIANCE)
    return weights, covariance, noise


# The comparison of search orders on held-out programs.

MILESTONES = (1, 10, 60, 120)
"""Numbers of evaluations to report."""

ORDERS = ("portfolio", "model")
# The range of bytes of code for files with a row.
WORTHWHILE = range(1_000, 20_000)

Sizes = dict[str, dict[str, int]]
"""Bytes by order and number of evaluations; those of ``clang -Oz`` at 0."""


@dataclass(frozen=True)
class HeldOutRow(ABC):
    """The results on a held-out program.

    Attributes:
        program: The URI of the program.
    """

    program: str

    @property
    @abstractmethod
    def is_counted(self) -> bool:
        """True if the program has results."""


Judged = TypeVar("Judged", bound=HeldOutRow)


@dataclass(frozen=True)
class JudgedRow(HeldOutRow):
    """The results of both orders on a program; empty if it has too little or too much code.

    Attributes:
        loaded: All bytes that are loaded.
        code: Bytes of code of the same results.
    """

    loaded: Sizes
    code: Sizes

    @property
    @override
    def is_counted(self) -> bool:
        return bool(self.loaded)


def judge_programs(
    path: Path,
    kind: type[Judged],
    programs: Iterable[str],
    count: int,
    judge: Callable[[str], Judged],
) -> list[Judged]:
    """Judges programs until some have results. Those that a file has are not judged again.

    Args:
        path: The file of the rows, as JSON lines. Each row is added as soon as it is known.
        kind: The class of the rows.
        programs: The URIs of the programs.
        count: The number of programs with results to stop at.
        judge: Returns the row of a program.

    Returns:
        All rows.

    Raises:
        ValueError: If a line of the file other than the last is no row.
    """
    rows = {row["program"]: kind(**row) for row in json_table.kept_rows(path, "program")}
    for program in programs:
        if sum(row.is_counted for row in rows.values()) >= count:
            break
        if program not in rows:
            rows[program] = judge(program)
            with path.open("a", encoding="utf-8") as file:
                file.write(json_table.line_of(asdict(rows[program])))
    return [*rows.values()]


def judged(benchmark: Benchmark, ranking: Ranking, evaluations: int, jobs: int) -> JudgedRow:
    """Searches with both orders.

    Args:
        benchmark: The program.
        ranking: The model.
        evaluations: Number of evaluations of each search.
        jobs: Compilers at a time.

    Raises:
        BenchmarkInitError: If the program cannot be compiled.
    """
    row = JudgedRow(str(benchmark.uri), {}, {})
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        compilation = compilation_for_size(benchmark.proto.program.contents, Path(name))
        for order in ORDERS:
            budget = Budget(evaluations=evaluations)
            with (
                tempfile.TemporaryDirectory(dir=name) as folder,
                Evaluator(
                    compilation, Path(folder), budget, jobs, trial=trial_linker(())
                ) as evaluator,
            ):
                search = Optimizer(evaluator, ranking=ranking if order == "model" else None)
                search.start()
                if search.baseline.object.text not in WORTHWHILE:
                    return row
                row.loaded[order], row.code[order] = _searched(search, evaluations)
    return row


def _searched(search: Optimizer, evaluations: int) -> tuple[dict[str, int], dict[str, int]]:
    """Runs a search. Returns the bytes that are loaded, and those of code, by milestone."""
    leads = [(0, search.baseline)]

    def watch(it: Optimizer) -> None:
        if it.leading is not leads[-1][1]:
            leads.append((it.evaluator.budget.used, it.leading))

    search.watch = watch
    search.run()
    counts = [0, *(count for count in MILESTONES if count <= evaluations)]
    found = {
        str(count): min(
            (each for used, each in leads if used <= count),
            key=lambda it: (it.loaded, it.object.text),
        )
        for count in counts
    }
    loaded = {count: each.loaded for count, each in found.items()}
    return loaded, {count: each.object.text for count, each in found.items()}


def table_of(rows: Iterable[JudgedRow]) -> str:
    """Returns what both orders save, in Markdown; a sentence if no row has results."""
    counted = [row for row in rows if row.is_counted]
    if not counted:
        return "No program has results."
    counts = [count for count in counted[0].loaded[ORDERS[0]] if count != "0"]
    lines = [f"| {len(counted)} programs | {' | '.join(f'after {n}' for n in counts)} |"]
    lines.append(f"|---|{'---:|' * len(counts)}")
    kinds: Sequence[tuple[str, Callable[[JudgedRow], Sizes]]] = (
        ("loaded bytes", lambda row: row.loaded),
        ("code", lambda row: row.code),
    )
    for kind, sizes in kinds:
        for order in ORDERS:
            ratios = [
                [sizes(row)[order][count] / sizes(row)[order]["0"] for row in counted]
                for count in counts
            ]
            means = [f"{1 - geometric_mean(each):.2%}" for each in ratios]
            larger = [str(sum(ratio > 1 for ratio in each)) for each in ratios]
            lines.append(f"| saved of {kind}, {order} | {' | '.join(means)} |")
            lines.append(f"| larger, {order} | {' | '.join(larger)} |")
    return "\n".join(lines)
