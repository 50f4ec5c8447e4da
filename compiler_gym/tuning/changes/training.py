"""Trains a model of what changes are worth, from a table of trials."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.decisions import change_from_json
from compiler_gym.tuning.size.features import vector_of
from compiler_gym.tuning.size.portfolio import shipped_portfolio
from compiler_gym.tuning.size.ranking import Ranking, encoded, words_in

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
# A few sources that grow by half would decide the fit, but such a change is of no use anyway.
_CLIP = (-0.3, 0.1)

Row = Mapping[str, Any]


def results_of(row: Row) -> list[tuple[Change, float]]:
    """Returns changes of options and the logarithm of their bytes over those of the baseline."""
    before = np.log(row["baseline"]["loaded"])
    return [
        (change_from_json(each["change"]), float(np.clip(np.log(each["loaded"]) - before, *_CLIP)))
        for each in row["changes"]
    ]


def train(rows: Sequence[Row], features: tuple[str, ...] = FEATURES, about: Any = None) -> Ranking:
    """Trains a model.

    Args:
        rows: Rows of a table of trials, with at least one change each.
        features: The names of the features to use; none for a model without features.
        about: What the model is to say about its origin.

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
        tuple(order_of_skips(rows)),
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


def order_of_skips(rows: Sequence[Row]) -> list[str]:
    """Returns passes to leave out of functions, in the order of what each adds to the former."""
    tables = [_Skips(row) for row in rows if row.get("skips")]
    left = sorted({name for table in tables for name in table.sizes})
    order: list[str] = []
    while left:
        gains = [sum(table.gain(name) for table in tables) for name in left]
        best = left.pop(int(np.argmax(gains)))
        order.append(best)
        for table in tables:
            table.add(best)
    return order


class _Skips:
    """The bytes of the functions of a source, without some passes."""

    def __init__(self, row: Row):
        self.best = np.array(row["functions"])
        self.sizes = {name: np.array(each["functions"]) for name, each in row["skips"].items()}
        self._total = row["start"]["loaded"]

    def gain(self, name: str) -> float:
        """Returns the share of all bytes that another pass saves."""
        after = self.sizes.get(name, self.best)
        return float((self.best - np.minimum(self.best, after)).sum() / self._total)

    def add(self, name: str) -> None:
        self.best = np.minimum(self.best, self.sizes.get(name, self.best))
