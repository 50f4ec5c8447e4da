"""Sums of regression trees, as text that other programs can read, and their predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class BoostedTrees:
    """A sum of regression trees, whose nodes stand one after the other.

    Attributes:
        start: What is added to the sum.
        roots: int64 [trees], the numbers of the first nodes.
        features: int64 [nodes], the number of the feature that is compared.
        thresholds: float64 [nodes], the largest value with which the left node follows.
        left: int64 [nodes], the number of the left node; a leaf has its own.
        right: int64 [nodes], the number of the right node; a leaf has its own.
        values: float64 [nodes], what a leaf adds to the sum.
    """

    start: float
    roots: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Returns float64 [rows], the sums for rows of features.

        Args:
            rows: float64 [rows, features].
        """
        nodes = np.tile(self.roots, (len(rows), 1))
        index = np.arange(len(rows))[:, np.newaxis]
        while True:
            is_left = rows[index, self.features[nodes]] <= self.thresholds[nodes]
            following = np.where(is_left, self.left[nodes], self.right[nodes])
            if np.array_equal(following, nodes):
                return self.start + self.values[nodes].sum(axis=1)
            nodes = following

    def as_facts(self) -> dict[str, Any]:
        """Returns what :meth:`from_facts` reads; a leaf has no feature, and 0 for it."""
        leaves = self.left == np.arange(len(self.left))
        numbers = np.where(leaves, self.values, self.thresholds)
        return {
            "start": _short(self.start),
            "roots": self.roots.tolist(),
            "features": self.features.tolist(),
            "numbers": [*map(_short, numbers.tolist())],
            "left": self.left.tolist(),
            "right": self.right.tolist(),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "BoostedTrees":
        """Reads trees.

        Raises:
            KeyError: If something is missing.
        """
        roots, features, left, right = (
            np.array(facts[name], dtype=np.int64) for name in ("roots", "features", "left", "right")
        )
        numbers = np.array(facts["numbers"], dtype=np.float64)
        leaves = left == np.arange(len(left))
        return cls(
            float(facts["start"]),
            *(roots, features, np.where(leaves, 0, numbers), left, right),
            np.where(leaves, numbers, 0),
        )


def trees_of(start: float, trees: Sequence[np.ndarray]) -> BoostedTrees:
    """Returns the sum of trees whose nodes have the fields of scikit-learn's.

    Args:
        start: What is added to the sum.
        trees: The nodes of each tree, a structured array. Features have numbers, no categories.
    """
    if not trees:
        return replace(_NOTHING, start=start)
    nodes = np.concatenate(trees)
    counts = [len(tree) for tree in trees]
    roots = np.cumsum([0, *counts])[:-1]
    base, own = np.repeat(roots, counts), np.arange(len(nodes))
    leaves = nodes["is_leaf"].astype(bool)
    return BoostedTrees(
        start,
        *(roots, np.where(leaves, 0, nodes["feature_idx"])),
        np.where(leaves, 0.0, nodes["num_threshold"]),
        np.where(leaves, own, base + nodes["left"]),
        np.where(leaves, own, base + nodes["right"]),
        np.where(leaves, nodes["value"], 0.0),
    )


_NUMBERS, _VALUES = np.zeros(0, dtype=np.int64), np.zeros(0)
_NOTHING = BoostedTrees(0.0, _NUMBERS, _NUMBERS, _VALUES, _NUMBERS, _NUMBERS, _VALUES)


def _short(value: float) -> float:
    return float(f"{value:.5g}")
