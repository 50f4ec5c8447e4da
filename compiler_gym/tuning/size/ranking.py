"""A learned order of the changes that a search tries first.

The gain of a change on a source, the logarithm of its bytes over those of ``clang -Oz``, is
modelled as a sum over the parts of the change. The worth of the parts on a source is normally
distributed: its mean is linear in features of the source, and each result on the source narrows it.
The next change is the one with the largest expected improvement.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.decisions import change_as_json, change_from_json
from compiler_gym.tuning.size.features import vector_of

_SHIPPED = Path(__file__).parent / "ranking.json"
_DIGITS = 6


@dataclass(frozen=True)
class Ranking:
    """A model of what changes are worth.

    Attributes:
        words: The parts of changes: options and passes.
        features: The names of the features.
        mean: float64 [features], subtracted from the features.
        scale: float64 [features], divides them then.
        weights: float64 [features + 1, words], the mean worth of parts; the last row is added.
        covariance: float64 [words, words], of the worth of parts on a source.
        noise: The variance of results that parts do not explain.
        candidates: The changes to choose from.
        skips: Passes to leave out of functions, the most useful first.
        about: How the model was trained.
    """

    words: tuple[str, ...]
    features: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    covariance: np.ndarray
    noise: float
    candidates: tuple[Change, ...]
    skips: tuple[str, ...]
    about: Mapping[str, Any]

    def belief(self, features: Mapping[str, float]) -> "Belief":
        """Returns what is expected of changes on a source with some features."""
        values = (vector_of(features, self.features) - self.mean) / self.scale
        mean = np.append(np.clip(values, -3, 3), 1.0) @ self.weights
        return Belief(self, mean, self.covariance.copy())

    def words_of(self, change: Change) -> np.ndarray:
        """Returns float64 [words]: 1 for the words of a change, else 0."""
        return encoded(change, self.words)

    def as_json(self) -> str:
        """Returns the model as text that :meth:`from_json` reads."""
        arrays = ("mean", "scale", "weights", "covariance")
        facts: dict[str, Any] = {
            "about": dict(self.about),
            "words": self.words,
            "features": self.features,
            "noise": float(f"{self.noise:.{_DIGITS}g}"),
            "candidates": [change_as_json(each) for each in self.candidates],
            "skips": self.skips,
        }
        for name in arrays:
            facts[name] = _rounded(getattr(self, name)).tolist()
        return json.dumps(facts, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Ranking":
        """Reads a model.

        Raises:
            ValueError: If it is not a model.
        """
        try:
            facts = json.loads(text)
            arrays = {
                name: np.array(facts[name], dtype=np.float64)
                for name in ("mean", "scale", "weights", "covariance")
            }
            return cls(
                words=tuple(facts["words"]),
                features=tuple(facts["features"]),
                noise=float(facts["noise"]),
                candidates=tuple(map(change_from_json, facts["candidates"])),
                skips=tuple(facts["skips"]),
                about=facts["about"],
                **arrays,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected a model of `changes train`, got no {error}") from error


class Belief:
    """Expectations about changes on one source, given the results so far.

    Args:
        ranking: The model.
        mean: float64 [words], the mean worth of parts.
        covariance: float64 [words, words].
    """

    def __init__(self, ranking: Ranking, mean: np.ndarray, covariance: np.ndarray):
        self._ranking = ranking
        self._mean = mean
        self._covariance = covariance

    def choose(self, candidates: Sequence[Change], best: float) -> Change:
        """Returns the change with the largest expected improvement; the first of equal ones.

        Args:
            candidates: At least one change.
            best: The smallest result so far, as a logarithm; 0 is that of ``clang -Oz``.
        """
        rows = np.stack([self._ranking.words_of(each) for each in candidates])
        means = rows @ self._mean
        variances = np.einsum("ij,jk,ik->i", rows, self._covariance, rows)
        gains = [
            expected_improvement(best - mean, math.sqrt(max(variance, 1e-12)))
            for mean, variance in zip(means, variances, strict=True)
        ]
        return candidates[int(np.argmax(np.round(gains, 12)))]

    def learn(self, change: Change, result: float) -> None:
        """Takes the result of a change into account.

        Args:
            change: The change.
            result: The logarithm of its bytes over those of ``clang -Oz``.
        """
        row = self._ranking.words_of(change)
        direction = self._covariance @ row
        gain = direction / (row @ direction + self._ranking.noise)
        self._mean = self._mean + gain * (result - row @ self._mean)
        self._covariance = self._covariance - np.outer(gain, direction)


def words_in(change: Change) -> tuple[str, ...]:
    """Returns the parts of a change that a model knows: options and passes."""
    return (*change.options, *change.passes)


def encoded(change: Change, words: Sequence[str]) -> np.ndarray:
    """Returns float64 [words]: 1 for the words of a change, else 0."""
    present = {*words_in(change)}
    return np.array([word in present for word in words], dtype=np.float64)


def expected_improvement(difference: float, deviation: float) -> float:
    """Returns the mean of the positive part of a normal distribution.

    Args:
        difference: Its mean.
        deviation: Its standard deviation, which is positive.
    """
    ratio = difference / deviation
    density = math.exp(-ratio * ratio / 2) / math.sqrt(2 * math.pi)
    return difference * (1 + math.erf(ratio / math.sqrt(2))) / 2 + deviation * density


@cache
def shipped_ranking() -> Ranking:
    """Returns the model that comes with the package."""
    return Ranking.from_json(_SHIPPED.read_text(encoding="utf-8"))


def _rounded(values: np.ndarray) -> np.ndarray:
    text: Iterable[str] = (f"{value:.{_DIGITS}g}" for value in values.ravel())
    return np.array([*map(float, text)], dtype=np.float64).reshape(values.shape)
