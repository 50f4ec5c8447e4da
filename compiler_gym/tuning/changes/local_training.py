"""Trains the parts of the model about single functions and about calls."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler_gym.tuning.size.boosted_trees import BoostedTrees, trees_of
from compiler_gym.tuning.size.call_gains import NO_CALL_GAINS, CallGains
from compiler_gym.tuning.size.function_gains import FunctionGains, GainTrees, rows_of
from compiler_gym.tuning.size.safety import FRAME_POINTER

_SETTINGS = {
    "l2_regularization": 1.0,
    "max_bins": 63,
    "early_stopping": False,
    "random_state": 0,
}
_OF_FUNCTIONS = {
    "max_iter": 40,
    "learning_rate": 0.05,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 30,
}
_OF_CALLS = {
    "max_iter": 250,
    "learning_rate": 0.05,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 15,
}
# Limits what single functions and decisions mean to the model: shares of the bytes of the function,
# and bytes.
_CLIP = 0.2
_MOST_WEIGHT = 0.3
_CLIP_OF_CALLS = 200
# A program with fewer decisions does not count more.
_LEAST_DECISIONS = 30

Row = Mapping[str, Any]


def train_functions(rows: Sequence[Row]) -> FunctionGains:
    """Trains a model of what adjustments save in functions.

    Args:
        rows: Rows of a table of trials.
    """
    adjusted = [row for row in rows if row.get("adjustments")]
    if not adjusted:
        return FunctionGains((), {})
    features = [each for row in adjusted for each in row["function_features"]]
    names = tuple(sorted({name for each in features for name in each}))
    values = rows_of(features, names)
    sizes = np.concatenate([np.array(row["functions"], dtype=np.float64) for row in adjusted])
    totals = np.concatenate([np.full(len(row["functions"]), _total(row)) for row in adjusted])
    weights = np.minimum(sizes / totals, _MOST_WEIGHT)
    used = (sizes > 0) & np.array([*map(bool, features)])
    trees = {}
    # Where to use frame pointers is known without a model.
    for name in sorted({name for row in adjusted for name in row["adjustments"]} - {FRAME_POINTER}):
        after = np.concatenate([_after(row, name) for row in adjusted])
        shares = np.clip(1 - after[used] / sizes[used], -_CLIP, _CLIP)
        trees[name] = _fit(values[used], shares, weights[used], _OF_FUNCTIONS)
    return FunctionGains(names, trees)


def train_calls(rows: Sequence[Row]) -> CallGains:
    """Trains a model of what decisions about calls save.

    Args:
        rows: Rows of a table of trials.
    """
    decided = [row for row in rows if row.get("decisions")]
    if not decided:
        return NO_CALL_GAINS
    decisions = [each for row in decided for each in row["decisions"]]
    names = tuple(sorted({name for each in decisions for name in each["features"]}))
    values = rows_of([each["features"] for each in decisions], names)
    counts = [len(row["decisions"]) for row in decided]
    saved = -np.clip([each["code"] for each in decisions], -_CLIP_OF_CALLS, _CLIP_OF_CALLS)
    roots = np.sign(saved) * np.sqrt(np.abs(saved))
    weights = np.repeat([max(count, _LEAST_DECISIONS) ** -0.5 for count in counts], counts)
    return CallGains(names, _fit(values, roots, weights, _OF_CALLS))


def _total(row: Row) -> int:
    return max(sum(row["functions"]), 1)


def _after(row: Row, adjustment: str) -> np.ndarray:
    """Returns the bytes of the functions with an adjustment; as before if clang failed with it."""
    found = row["adjustments"].get(adjustment, row)
    return np.array(found["functions"], dtype=np.float64)


def _fit(
    values: np.ndarray, saved: np.ndarray, weights: np.ndarray, settings: Mapping[str, float]
) -> GainTrees:
    """Fits trees to what changes saved."""
    targets = (saved, np.maximum(saved, 0))
    return GainTrees(*(fit_mean(values, each, weights, settings) for each in targets))


def fit_mean(
    values: np.ndarray, targets: np.ndarray, weights: np.ndarray, settings: Mapping[str, float]
) -> BoostedTrees:
    """Fits trees to the mean of targets."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(**_SETTINGS, **settings)
    model.fit(values, targets, sample_weight=weights / weights.mean())
    # scikit-learn has no public way to its trees.
    nodes = [tree.nodes for (tree,) in model._predictors]
    return trees_of(float(model._baseline_prediction.item()), nodes)
