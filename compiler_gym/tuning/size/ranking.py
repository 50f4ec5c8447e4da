"""Orders in which a search tries changes: by average gain, or learned from features.

The gain of a change on a source, the logarithm of its bytes over those of ``clang -Oz``, is
modelled as a sum over the parts of the change. The worth of the parts on a source is normally
distributed: its mean is linear in features of the source, and each result on the source narrows it.
The next change is the one with the largest expected improvement.
"""

import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.tuning.size.call_gains import CallGains
from compiler_gym.tuning.size.compilation import Change, change_as_json, change_from_json
from compiler_gym.tuning.size.function_gains import FunctionGains
from compiler_gym.tuning.size.moves import Move
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.safety import FRAME_POINTER
from compiler_gym.tuning.size.shipped import PORTFOLIO, RANKING
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command

# Features of a source that are cheap to compute: sizes of its object file, counts of its IR.

_SECONDS = 60
_SMALL = 32
_PROPERTY = re.compile(
    r"^(?:Printing analysis results of CFA for function '(.*)':|(\w+): (\d+))$", re.M
)
_COUNT_COMMAND = (
    "-passes=print<func-properties>",
    "-enable-detailed-function-properties",
    "-disable-output",
)


def object_features(found: ObjectFile, loaded: int) -> dict[str, float]:
    """Returns the features of an object file: logarithms of sizes, and shares from 0 to 1.

    Args:
        found: The object file, as clang makes it without a change.
        loaded: All bytes of it that are loaded.
    """
    sizes = np.array([*found.functions.values()] or [0], dtype=np.float64)
    text = max(found.text, 1)
    return {
        "log_text": float(np.log1p(found.text)),
        "linker_share": 1 - found.all / max(loaded, 1),
        "text_share": found.text / max(loaded, 1),
        "log_functions": float(np.log1p(len(found.functions))),
        "log_mean_function": float(np.log1p(sizes.mean())),
        "largest_share": float(sizes.max()) / text,
        "small_share": float(sizes[sizes < _SMALL].sum()) / text,
    }


def function_properties(unit: Path) -> dict[str, dict[str, int]]:
    """Returns LLVM's counts of the functions of bitcode on which no pass has run, by name.

    The names of the counts are those of LLVM's function properties. Returns nothing if ``opt``
    cannot count them. Takes about as long as the compilation of a small source.
    """
    try:
        done = run_command([llvm_tools.opt_path(), *_COUNT_COMMAND, unit], timeout=_SECONDS)
    except subprocess.SubprocessError:
        return {}
    return read_properties(done.stderr + done.stdout)


def read_properties(text: str) -> dict[str, dict[str, int]]:
    """Returns the counts that LLVM prints, by the names of functions and counts."""
    found: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    for function, name, count in _PROPERTY.findall(text):
        if function:
            counts = found.setdefault(function, {})
        else:
            counts[name] = int(count)
    return found


def ir_features(properties: Iterable[Mapping[str, int]]) -> dict[str, float]:
    """Returns the sums of the counts of functions, per instruction."""
    totals: Counter[str] = Counter()
    for each in properties:
        totals.update(each)
    instructions = max(totals.pop("TotalInstructionCount", 0), 1)
    shares = {name: total / instructions for name, total in totals.items()}
    return {**shares, "log_instructions": float(np.log1p(instructions))} if totals else {}


def vector_of(features: Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    """Returns features as float64 [names]; those that are unknown are 0."""
    return np.array([features.get(name, 0.0) for name in names], dtype=np.float64)


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
        functions: What adjustments are worth in single functions.
        calls: What decisions about calls are worth.
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
    functions: FunctionGains
    calls: CallGains
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
        }
        for name in arrays:
            facts[name] = _rounded(getattr(self, name)).tolist()
        facts |= {"functions": self.functions.as_facts(), "calls": self.calls.as_facts()}
        # One line for each attribute.
        lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in facts.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

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
                functions=FunctionGains.from_facts(facts["functions"]),
                calls=CallGains.from_facts(facts["calls"]),
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

    def expected(self, change: Change) -> float:
        """Returns the expected result of a change: see :meth:`learn`."""
        return float(self._ranking.words_of(change) @ self._mean)

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
    return Ranking.from_json(RANKING.read_text(encoding="utf-8"))


def _rounded(values: np.ndarray) -> np.ndarray:
    text: Iterable[str] = (f"{value:.{_DIGITS}g}" for value in values.ravel())
    return np.array([*map(float, text)], dtype=np.float64).reshape(values.shape)


# The changes that are tried first, in the order of what they were good for on average.


@dataclass(frozen=True)
class Known:
    """A change that is known to be good for programs.

    Attributes:
        name: What it is called.
        change: The change.
        gain: How much smaller it made programs on average: 0.05 is 5 %.
    """

    name: str
    change: Change
    gain: float


@cache
def shipped_portfolio(with_experimental: bool = False) -> tuple[Known, ...]:
    """Returns the changes that come with the package, the best first.

    Args:
        with_experimental: Whether to include changes with experimental options.
    """
    known = (Known(each["name"], _change(each), each["gain"]) for each in _shipped()["changes"])
    return tuple(each for each in known if with_experimental or not is_experimental(each.change))


def experimental_options(change: Change) -> list[str]:
    """Returns the experimental options of a change, for code size or for speed.

    An option is experimental unless LLVM itself sets it for some target or level, or it only
    changes a threshold or leaves out a pass that LLVM can leave out.
    """
    experimental = {*_shipped()["experimental"]}
    return [option for option in change.options if option in experimental]


def is_experimental(change: Change) -> bool:
    """Returns whether a change has an experimental option."""
    return bool(experimental_options(change))


def toggles(with_passes: bool, with_experimental: bool = False) -> list[Move]:
    """Returns moves that each add something to a change, or take it away.

    Args:
        with_passes: Whether clang has the plugin, which parts with passes need.
        with_experimental: Whether to include experimental options.
    """
    return moves_of(shipped_parts(True), with_passes, with_experimental)


@cache
def shipped_parts(with_experimental: bool = False) -> tuple[Change, ...]:
    """Returns the parts that :func:`toggles` adds to changes, the most promising first.

    Args:
        with_experimental: Whether to include experimental options.
    """
    parts = map(_change, _shipped()["parts"])
    return tuple(each for each in parts if with_experimental or not is_experimental(each))


def moves_of(
    parts: Iterable[Change], with_passes: bool, with_experimental: bool = False
) -> list[Move]:
    """Returns moves that each add a part to a change, or take it away.

    Args:
        parts: The parts, the most promising first.
        with_passes: Whether clang has the plugin, which parts with passes need.
        with_experimental: Whether to include experimental options.
    """
    return [
        partial(toggled, part)
        for part in parts
        if (with_passes or not part.passes) and (with_experimental or not is_experimental(part))
    ]


def function_adjustments(options: Sequence[str] = ()) -> list[str]:
    """Returns adjustments that make some functions smaller, the most promising first.

    Args:
        options: The user's options, which may rule some out.
    """
    refused = FRAME_POINTER if "-fomit-frame-pointer" in options else ""
    return [each for each in _shipped()["functions"] if each != refused]


def toggled(part: Change, change: Change) -> Change:
    """Returns a change without a part, or with it if not all of it is there."""
    has_all = {*part.options} <= {*change.options} and {*part.passes} <= {*change.passes}
    # What sets the same option to another value is replaced.
    names = {option.partition("=")[0] for option in part.options}
    options = [each for each in change.options if each.partition("=")[0] not in names]
    passes = [each for each in change.passes if each not in part.passes]
    added = Change() if has_all else part
    return replace(change, options=(*options, *added.options), passes=(*passes, *added.passes))


def _change(facts: Mapping[str, Any]) -> Change:
    return Change(tuple(facts.get("options", ())), tuple(facts.get("passes", ())))


@cache
def _shipped() -> dict[str, Any]:
    return json.loads(PORTFOLIO.read_text(encoding="utf-8"))
