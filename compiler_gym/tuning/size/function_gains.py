"""The bytes that adjustments of functions are expected to save, learned from trials.

For each adjustment there are regression trees, whose features are sizes of the function as clang
makes it, and counts of its code before any pass.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler_gym.tuning.size.boosted_trees import BoostedTrees
from compiler_gym.tuning.size.object_file import ObjectFile


@dataclass(frozen=True)
class Expected:
    """The expectation of what a change saves.

    Attributes:
        saved: The bytes that it saves, on average.
        improvement: The same if it is only kept where it saves anything.
    """

    saved: float
    improvement: float


@dataclass(frozen=True)
class GainTrees:
    """Trees that predict what a change saves.

    Attributes:
        saved: What it saves, on average.
        improvement: The same, with 0 where it saves nothing.
    """

    saved: BoostedTrees
    improvement: BoostedTrees

    def predict(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns float64 [rows] of both, for float64 [rows, features]."""
        return self.saved.predict(rows), self.improvement.predict(rows)

    def as_facts(self) -> list[dict[str, Any]]:
        """Returns what :meth:`from_facts` reads."""
        return [self.saved.as_facts(), self.improvement.as_facts()]

    @classmethod
    def from_facts(cls, facts: Sequence[Mapping[str, Any]]) -> "GainTrees":
        """Reads trees.

        Raises:
            KeyError: If something is missing.
        """
        return cls(*map(BoostedTrees.from_facts, facts))


FunctionFeatures = Mapping[str, float]
"""Features of a function by name."""


def function_features(
    found: ObjectFile, properties: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """Returns the features of functions, by the names of the functions.

    Args:
        found: The object file, as clang makes it without a change.
        properties: Counts of the functions before any pass; those without are left out.
    """
    return {
        name: {"bytes": size, "unwinding": found.unwinding.get(name, 0), **properties[name]}
        for name, size in found.functions.items()
        if name in properties and size > 0
    }


@dataclass(frozen=True)
class FunctionGains:
    """A model of what adjustments save in functions.

    Attributes:
        features: The names of the features.
        trees: By adjustment: of the bytes that it saves, divided by those of the function.
    """

    features: tuple[str, ...]
    trees: Mapping[str, GainTrees]

    def expected(
        self, functions: Mapping[str, FunctionFeatures], adjustments: Sequence[str]
    ) -> dict[str, dict[str, Expected]]:
        """Returns the bytes that adjustments are expected to save, by function and adjustment.

        Args:
            functions: The features of the functions by name.
            adjustments: The adjustments; the model may not know all.
        """
        known = [each for each in adjustments if each in self.trees]
        if not functions or not known:
            return {}
        rows = rows_of(functions.values(), self.features)
        sizes = np.array([it["bytes"] + it["unwinding"] for it in functions.values()])
        shares = np.array([self.trees[each].predict(rows) for each in known])
        # By function, adjustment, and attribute of what is expected.
        saved = (shares * sizes).transpose(2, 0, 1).tolist()
        return {
            name: {text: Expected(*pair) for text, pair in zip(known, pairs, strict=True)}
            for name, pairs in zip(functions, saved, strict=True)
        }

    def as_facts(self) -> dict[str, Any]:
        """Returns what :meth:`from_facts` reads."""
        trees = {name: each.as_facts() for name, each in self.trees.items()}
        return {"features": self.features, "trees": trees}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "FunctionGains":
        """Reads a model.

        Raises:
            KeyError: If something is missing.
        """
        trees = {name: GainTrees.from_facts(each) for name, each in facts["trees"].items()}
        return cls(tuple(facts["features"]), trees)


def rows_of(functions: Collection[FunctionFeatures], names: Sequence[str]) -> np.ndarray:
    """Returns float64 [functions, features]; those that are unknown are 0."""
    rows = [[each.get(name, 0.0) for name in names] for each in functions]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
