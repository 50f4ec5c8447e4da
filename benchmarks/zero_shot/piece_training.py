"""Training of a network that chooses pieces, on many programs at once."""

import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.zero_shot.guided import Layers
from benchmarks.zero_shot.known_states import PIECES, Episodes, KnownStates
from compiler_gym.util.runfiles_path import runfiles_path

sys.path.insert(0, str(runfiles_path("examples")))

import ppo

# Each update has so many programs, and so many episodes of each.
_PROGRAMS, _REPEATED = 16, 8
_EPOCHS, _BATCH, _RATE, _LAMBDA, _ENTROPY = 6, 256, 5e-4, 0.95, 0.002
_UNITS = 128
# Logarithms of sizes differ at least so much by chance.
_LEAST_DEVIATION = 5e-3


class Step(NamedTuple):
    """A step of some of the episodes that are played at once.

    Attributes:
        rows: int [rows], the episodes that have not ended.
        inputs: float32 [rows, inputs], of the network.
        offsets: float32 [rows, pieces], what is added to the logits of the network.
        chosen: int [rows], the pieces.
        logs: float [rows], the logarithms of their probabilities.
        values: float [rows], the expected sums of rewards.
        rewards: float [rows], the decrease of the logarithm of the instructions.
    """

    rows: np.ndarray
    inputs: np.ndarray
    offsets: np.ndarray
    chosen: np.ndarray
    logs: np.ndarray
    values: np.ndarray
    rewards: np.ndarray


class Player(ABC):
    """Chooses pieces."""

    @abstractmethod
    def __call__(self, inputs: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the logarithms of the probabilities of pieces, and the expected rewards."""

    def play(self, episodes: Episodes, rng: np.random.Generator | None = None) -> list[Step]:
        """Plays episodes to their end, with drawn pieces; with the likeliest ones without rng."""
        steps = []
        while (rows := np.flatnonzero(episodes.allowed.any(axis=1))).size:
            inputs, offsets = episodes.inputs[rows], episodes.offsets[rows]
            logs, values = self(inputs, offsets)
            noise = 0 if rng is None else rng.gumbel(size=logs.shape)
            chosen = np.argmax(logs + noise, axis=1)
            before = np.maximum(episodes.costs[rows], 1)
            episodes.play(rows, chosen)
            rewards = np.log(before / np.maximum(episodes.costs[rows], 1))
            likely = logs[np.arange(len(rows)), chosen]
            steps.append(Step(rows, inputs, offsets, chosen, likely, values, rewards))
        return steps


class Chooser(Layers, Player):
    """A network that chooses pieces."""

    def __call__(self, inputs: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Computes the outputs of the network."""
        values = outputs = self.normalised(inputs)
        for weights, biases in self._layers:
            outputs = values @ weights + biases
            values = np.tanh(outputs)
        logits = outputs[:, 1:] + offsets
        return _log_probabilities(logits), outputs[:, 0]


class Ensemble(Player):
    """Several networks that choose pieces by the mean of their logarithms."""

    def __init__(self, players: Sequence[Player]):
        self._players = players

    def __call__(self, inputs: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Computes the means over the networks."""
        logs, values = zip(*(each(inputs, offsets) for each in self._players), strict=True)
        return _log_probabilities(np.mean(logs, axis=0)), np.mean(values, axis=0)


def _log_probabilities(logits: np.ndarray) -> np.ndarray:
    logits = logits - logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def play_at_random(episodes: Episodes, rng: np.random.Generator) -> None:
    """Plays episodes to their end with pieces that all have the same probability."""
    while (rows := np.flatnonzero(episodes.allowed.any(axis=1))).size:
        allowed = episodes.allowed[rows]
        noise = rng.random(allowed.shape)
        episodes.play(rows, np.argmax(np.where(allowed, noise, -1), axis=1))


@jax.grad
def _gradient(
    layers: Any, inputs: Any, offsets: Any, chosen: Any, old: Any, advantages: Any, returns: Any
) -> Any:
    """Returns the gradient of the loss of ``examples/ppo.py``, with offsets of logits."""
    logits, values = ppo.network(layers, inputs)
    logs = jax.nn.log_softmax(logits + offsets)
    ratios = jnp.exp(logs[jnp.arange(len(chosen)), chosen] - old)
    clipped = ratios.clip(1 - ppo.CLIP, 1 + ppo.CLIP)
    gains = jnp.minimum(ratios * advantages, clipped * advantages)
    entropy = -(jnp.exp(logs) * logs).sum(axis=1)
    return ((values - returns) ** 2 / 2 - gains - _ENTROPY * entropy).mean()


_OPTIMISER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(_RATE))


@jax.jit
def _improved(layers: Any, state: Any, *data: Any) -> Any:
    """Returns the layers and the state of the optimiser after a step along the gradient."""
    changes, state = _OPTIMISER.update(_gradient(layers, *data), state)
    return optax.apply_updates(layers, changes), state


class PieceLearner:
    """Proximal policy optimisation that goes on where it was interrupted.

    Several episodes of each program are played at once. The baseline of a step is the value of the
    network, corrected by the mean error in the same step of the episodes of the same program. The
    advantages of each program and step are normalised apart, since the first steps save much more
    than the last ones, and some programs vary much more than others.

    Args:
        known: Plays the pieces.
        programs: The programs to learn from.
        seed: Seeds the network and all draws.
        path: The file of the state of the training. :meth:`save` writes it.

    Attributes:
        actions: The number of actions so far.
        passes: The number of their passes.
        curve: What :meth:`note` has added.
    """

    def __init__(self, known: KnownStates, programs: Sequence[str], seed: int, path: Path):
        self.actions = self.passes = 0
        self.curve: list[dict[str, float]] = []
        self._known = known
        self._programs = programs
        self._path = path
        self._rng = np.random.default_rng(seed)
        self._scaling: list[np.ndarray] = []
        self._layers: list[Any] = []
        self._state: Any = None
        if path.exists():
            vars(self).update(pickle.loads(path.read_bytes()))
        else:
            self._begin()

    @property
    def chooser(self) -> Chooser:
        """The network."""
        return Chooser([*self._scaling, *(part for layer in self._layers for part in layer)])

    def save(self) -> None:
        """Writes the state of the training."""
        self._layers, self._state = jax.tree.map(np.asarray, (self._layers, self._state))
        names = "actions", "passes", "curve", "_rng", "_scaling", "_layers", "_state"
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(pickle.dumps({name: getattr(self, name) for name in names}))
        fresh.replace(self._path)

    def note(self, **numbers: float) -> None:
        """Adds a point to the learning curve."""
        self.curve.append({"actions": self.actions, "passes": self.passes} | numbers)

    def update(self) -> None:
        """Plays episodes, and changes the network."""
        episodes, steps = self._play()
        returns, advantages = _judged(steps, len(episodes.states))
        chooser = self.chooser
        columns = [np.concatenate(each) for each in zip(*steps, strict=True)]
        _, inputs, offsets, chosen, logs, *_ = columns
        data = chooser.normalised(inputs), offsets, chosen, logs, advantages, returns
        self.actions += len(chosen)
        self.passes += int(episodes.passes_run.sum())
        batch = min(_BATCH, len(chosen))
        whole = len(chosen) // batch * batch
        for _ in range(_EPOCHS):
            for rows in self._rng.permutation(len(chosen))[:whole].reshape(-1, batch):
                batch_data = (each[rows] for each in data)
                self._layers, self._state = _improved(self._layers, self._state, *batch_data)

    def _begin(self) -> None:
        """Makes a network that adds nearly nothing to the offsets."""
        episodes = Episodes(self._known, [*self._rng.choice(self._programs, _PROGRAMS)])
        size = episodes.inputs.shape[1]
        self._scaling = [np.zeros(size), np.ones(size)]
        sizes = (size, _UNITS), (_UNITS, _UNITS), (_UNITS, len(PIECES) + 1)
        self._layers = [
            (self._rng.normal(scale=scale, size=each), np.zeros(each[1]))
            for each, scale in zip(sizes, (0.1, 0.1, 0.01), strict=True)
        ]
        self._state = _OPTIMISER.init(self._layers)
        seen = np.concatenate([step.inputs for step in self._play()[1]])
        self._scaling = [seen.mean(axis=0), seen.std(axis=0) + 1e-3]

    def _play(self) -> tuple[Episodes, list[Step]]:
        chosen = self._rng.choice(self._programs, min(_PROGRAMS, len(self._programs)), False)
        episodes = Episodes(self._known, [str(uri) for uri in chosen for _ in range(_REPEATED)])
        return episodes, self.chooser.play(episodes, self._rng)


def _judged(steps: list[Step], episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the sums of rewards to learn, and the normalised advantages, of all rows of steps."""
    shape = len(steps) + 1, episodes
    values, rewards, is_played = np.zeros(shape), np.zeros(shape), np.zeros(shape, bool)
    for step, each in enumerate(steps):
        values[step, each.rows], rewards[step, each.rows] = each.values, each.rewards
        is_played[step, each.rows] = True
    advantages = np.zeros(shape)
    for step in reversed(range(len(steps))):
        error = rewards[step] + values[step + 1] - values[step]
        advantages[step] = is_played[step] * (error + _LAMBDA * advantages[step + 1])
    returns = advantages + values
    is_played = is_played.reshape(shape[0], -1, _REPEATED)
    groups = advantages.reshape(is_played.shape)
    counts = np.maximum(is_played.sum(axis=2, keepdims=True), 1)
    groups = is_played * (groups - groups.sum(axis=2, keepdims=True) / counts)
    deviations = np.sqrt((groups**2).sum(axis=2, keepdims=True) / counts)
    advantages = (groups / np.maximum(deviations, _LEAST_DEVIATION)).reshape(shape)
    rows = np.nonzero(is_played.reshape(shape))
    return returns[rows].astype(np.float32), advantages[rows].astype(np.float32)
