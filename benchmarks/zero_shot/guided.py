"""Episodes in which a network chooses pieces, and skips passes that would do nothing."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.zero_shot.task import PASSES
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.tuning.policies.policy import COST, Policy

PIECES = Policy.load("pieces").sequences
"""The pieces of the shipped policy ``pieces``."""

NAMES = tuple(sorted({name for piece in PIECES for name in piece}))
"""The passes of these pieces."""

_NUMBERS = tuple(tuple(NAMES.index(name) for name in piece) for piece in PIECES)
_SPACES = ("Autophase", "InstCount", "Ir2vec")
_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")
# More changes ago than this counts as never.
_LONG_AGO = 12
PERCENT = 100
"""Gains are learnt in this unit of the logarithm."""

# Passes of a piece that are run though they do nothing.
_OVERHEAD = 0.5
# Passes with a larger probability of an effect are never skipped.
_LIKELY = 0.3
# The gain for each pass below which a piece is left for the end.
LEAST = 2e-4


@dataclass(frozen=True)
class State:
    """A program in an episode.

    Attributes:
        cost: The number of IR instructions.
        features: float32 [features], of the program.
        changes: The number of passes that have changed the program.
        last: int64 [passes], the number of changes when each pass has run last.
        idle: The passes that have run without effect since the last change.
    """

    cost: int
    features: np.ndarray
    changes: int
    last: np.ndarray
    idle: frozenset[int] = frozenset()

    @classmethod
    def of(cls, env: LlvmEnv) -> "State":
        """Observes a program before the first pass."""
        cost, *parts = env.observation.observe([COST, *_SPACES])
        return cls(int(cost), features_of(parts), 0, np.full(len(NAMES), -_LONG_AGO))

    def after(self, number: int, cost: int, parts: Sequence[np.ndarray] | None) -> "State":
        """Returns the state after a pass; None stands for a pass without effect."""
        last = self.last.copy()
        last[number] = self.changes + (parts is not None)
        if parts is None:
            return State(self.cost, self.features, self.changes, last, self.idle | {number})
        return State(cost, features_of(parts), self.changes + 1, last)


def features_of(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Returns float32 [features] of Autophase, the counts of instructions, and IR2Vec.

    The counts are logarithms, and shares of all instructions.
    """
    autophase, counts, vector = (np.asarray(part, np.float32) for part in parts)
    total = max(float(autophase[_TOTAL]), 1)
    counts = np.concatenate([autophase, counts])
    return np.concatenate([np.log1p(counts), counts / total, vector / total]).astype(np.float32)


@dataclass
class Trial:
    """A piece that was tried.

    Attributes:
        piece: The number of the piece.
        inputs: float32 [inputs] for each program on the way.
        effects: The index of the program, the pass, and whether it had an effect.
        growth: The logarithm of the instructions after the piece, divided by those before.
    """

    piece: int
    inputs: list[np.ndarray]
    effects: list[tuple[int, int, bool]] = field(default_factory=list)
    growth: float = 0.0


class PieceEpisode:
    """Tries pieces on copies of a program, each on the smallest program so far.

    The environment stays as it is.

    Args:
        env: The environment, after a reset.

    Attributes:
        state: The smallest program so far.
        kept: The names of the passes that lead there.
        passes_run: The number of passes that have run.
    """

    def __init__(self, env: LlvmEnv):
        self.state = State.of(env)
        self.kept: list[str] = []
        self.passes_run = 0
        self._first = self.state.cost
        self._tried = np.full(len(PIECES), -_LONG_AGO)
        self._growth = np.zeros(len(PIECES))
        self._best = env.fork()

    def close(self) -> None:
        """Ends the episode."""
        self._best.close()

    @property
    def can_help(self) -> np.ndarray:
        """bool [pieces]: false if the piece was tried on the program as it is."""
        return self._tried != self.state.changes

    def inputs(self, state: State | None = None) -> np.ndarray:
        """Returns float32 [inputs], of a program on the way and of what was tried before."""
        state = state or self.state
        cost = max(state.cost, 1)
        sizes = [math.log(cost) / 10, math.log(cost / max(self._first, 1)), state.changes / 30]
        parts = [
            state.features,
            np.minimum(state.changes - state.last, _LONG_AGO) / _LONG_AGO,
            np.minimum(self.state.changes - self._tried, _LONG_AGO) / _LONG_AGO,
            np.clip(self._growth * 10, -1, 1),
            sizes,
        ]
        return np.concatenate(parts).astype(np.float32)

    def play(
        self, piece: int, is_wanted: Callable[[np.ndarray, int], bool] = lambda *_: True
    ) -> Trial:
        """Tries a piece, and keeps it unless the program becomes larger.

        Args:
            piece: The number of the piece.
            is_wanted: Tells from the inputs and the number of a pass whether to run it. A pass that
                has run without effect is skipped anyway.
        """
        state, kept = self.state, []
        trial = Trial(piece, [self.inputs()])
        copy = self._best.fork()
        try:
            for number in _NUMBERS[piece]:
                if number in state.idle:
                    continue
                if not is_wanted(trial.inputs[-1], number):
                    state = state.after(number, 0, None)
                    continue
                self.passes_run += 1
                (cost, *parts), _, done, info = copy.step(
                    copy.action_space[NAMES[number]], observation_spaces=[COST, *_SPACES]
                )
                if done:
                    trial.growth = math.inf
                    break
                has_effect = not info["action_had_no_effect"]
                trial.effects.append((len(trial.inputs) - 1, number, has_effect))
                state = state.after(number, int(cost), parts if has_effect else None)
                if has_effect:
                    kept.append(NAMES[number])
                    trial.inputs.append(self.inputs(state))
            else:
                trial.growth = math.log(max(state.cost, 1) / max(self.state.cost, 1))
            self._tried[piece], self._growth[piece] = self.state.changes, trial.growth
            if trial.growth <= 0:
                self._best, copy = copy, self._best
                self._tried[piece] = state.changes
                self.state = state
                self.kept += kept
        finally:
            copy.close()
        return trial


# The network and its policy.


class Forecast(NamedTuple):
    """The forecasts of a network.

    Attributes:
        effects: float64 [passes], log odds that a pass changes the program.
        gains: float64 [pieces], the mean reduction of the logarithm of the instructions.
        costs: float64 [pieces], the mean number of passes with an effect.
    """

    effects: np.ndarray
    gains: np.ndarray
    costs: np.ndarray


class Layers:
    """The layers of a network.

    Args:
        arrays: The mean and the scale of inputs, then weights and biases of each layer.
    """

    def __init__(self, arrays: Sequence[np.ndarray]):
        self._mean, self._scale, *layers = (np.asarray(each, np.float32) for each in arrays)
        self._layers = [*zip(layers[::2], layers[1::2], strict=True)]

    def normalised(self, inputs: np.ndarray) -> np.ndarray:
        """Returns inputs in units of their standard deviation."""
        return normalised(inputs, self._mean, self._scale)


class Network(Layers):
    """A network that forecasts the effects of passes and pieces."""

    def __call__(self, inputs: np.ndarray) -> Forecast:
        """Forecasts for inputs float32 [inputs]."""
        values = self.normalised(inputs)
        for weights, biases in self._layers[:-1]:
            values = np.maximum(values @ weights + biases, 0)
        weights, biases = self._layers[-1]
        effects, gains, costs = np.split(values @ weights + biases, BORDERS)
        return Forecast(effects, np.exp(gains) / PERCENT, np.exp(costs))


BORDERS = (len(NAMES), len(NAMES) + len(PIECES))
"""Where the outputs for gains and costs begin."""


def normalised(inputs: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Returns inputs in units of their standard deviation, five at most."""
    return np.clip((inputs - mean) / scale, -5, 5)


class _PiecePolicy(ABC):
    """A policy that tries pieces, and keeps those that help."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def set_random_seed(self, seed: int) -> None:
        """Seeds the random numbers of an episode."""
        self._rng = np.random.default_rng(seed)

    def play(self, env: LlvmEnv) -> None:
        """Plays an episode."""
        with closing(PieceEpisode(env)) as episode:
            self._try_pieces(episode)
        if episode.kept:
            env.multistep([env.action_space[name] for name in episode.kept])

    @abstractmethod
    def _try_pieces(self, episode: PieceEpisode) -> None:
        """Tries the pieces that the policy chooses."""


class Guided(_PiecePolicy):
    """A policy that skips what will probably do nothing.

    It goes through the pieces in their order, and tries those with enough expected gain for each
    pass, without the passes that will probably have no effect. A piece that makes the program
    larger is undone. If passes are left in the end, it tries the pieces with the largest gain.

    Args:
        networks: Forecasts, which are averaged.
        shuffling: The standard deviation of random numbers that are added to the places of pieces.
        least: The gain for each pass below which a piece is left for the end.
        passes: The maximum number of passes to run.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        shuffling: float = 0,
        least: float = LEAST,
        passes: int = PASSES,
    ):
        super().__init__()
        self._networks = networks
        self._shuffling = shuffling
        self._least = least
        self._passes = passes

    def _try_pieces(self, episode: PieceEpisode) -> None:
        left = self._order()
        while episode.passes_run < self._passes and episode.can_help.any():
            piece, odds = self._choice(episode, left)
            del left[: left.index(piece) + 1 if piece in left else 0]
            episode.play(piece, partial(self._is_wanted, episode, odds))

    def _is_wanted(
        self, episode: PieceEpisode, odds: float, inputs: np.ndarray, number: int
    ) -> bool:
        if episode.passes_run >= self._passes:
            return False
        return bool(self._forecast(inputs).effects[number] > odds)

    def _order(self) -> list[int]:
        """Returns the order of pieces in an episode. The first piece stays the first."""
        places = np.arange(len(PIECES)) + self._shuffling * self._rng.normal(size=len(PIECES))
        return [0, *(int(piece) for piece in np.argsort(places) if piece)]

    def _choice(self, episode: PieceEpisode, left: Sequence[int]) -> tuple[int, float]:
        """Returns the piece to try, and the log odds of an effect with which its passes run.

        The piece is the next of those left that gains enough, or else the best of all. A pass runs
        if the gain of the piece for each pass, times the probability of an effect, is enough.
        """
        forecast = self._forecast(episode.inputs())
        gains = forecast.gains / (forecast.costs + _OVERHEAD) * episode.can_help
        piece = next((each for each in left if gains[each] >= self._least), int(gains.argmax()))
        least = min(_LIKELY, self._least / float(gains[piece]))
        return piece, math.log(least / (1 - least))

    def _forecast(self, inputs: np.ndarray) -> Forecast:
        forecasts = [network(inputs) for network in self._networks]
        return Forecast(*(np.mean(each, axis=0) for each in zip(*forecasts, strict=True)))


class Unguided(_PiecePolicy):
    """A policy that tries the first piece, then the others in random order, with all passes."""

    def _try_pieces(self, episode: PieceEpisode) -> None:
        order = np.arange(len(PIECES))
        self._rng.shuffle(order[1:])
        for piece in order:
            episode.play(int(piece), lambda *_: episode.passes_run < PASSES)
