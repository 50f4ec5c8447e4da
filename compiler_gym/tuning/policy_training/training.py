"""Finds a good sequence of passes for each program, and keeps the most useful sequences.

The objective is the mean, over the programs, of the logarithm of their IR instructions divided by
those that -Oz leaves. Its exponential is the geometric mean in the tables.
"""

import random
from collections.abc import Iterable

import numpy as np

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.tuning.policies.policy import (
    COST,
    FIRST_SEQUENCE,
    Network,
    mutate,
    normalised,
    with_one,
)
from compiler_gym.util.sequence_reducer import reductions

Passes = tuple[str, ...]

BORDER = "|"
"""Stands between the pieces of a sequence."""


def joined(pieces: Iterable[Passes]) -> Passes:
    """Returns a sequence with borders between pieces."""
    passes: list[str] = []
    for piece in pieces:
        passes += [BORDER, *piece] if passes else piece
    return tuple(passes)


def pieces_of(passes: Passes) -> tuple[Passes, ...]:
    """Splits a sequence at its borders."""
    pieces: list[list[str]] = [[]]
    for name in passes:
        if name == BORDER:
            pieces.append([])
        else:
            pieces[-1].append(name)
    return tuple(tuple(piece) for piece in pieces if piece)


class Search:
    """Local search of a sequence that is good for one program.

    Args:
        env: An environment, in an episode of the program.
        most_passes: The maximum number of passes.
        seed: Seeds the search.
    """

    def __init__(self, env: LlvmEnv, most_passes: int, seed: int):
        self._env = env
        self._most_passes = most_passes
        self._rng = random.Random(seed)

    def run(self, tries: int) -> Passes:
        """Returns the best sequence, without passes that have no effect.

        Args:
            tries: The number of sequences to try.
        """
        space = self._env.action_space
        best = [space[name] for name in FIRST_SEQUENCE[: self._most_passes]]
        least = self._cost(best)
        for _ in range(tries):
            candidate = mutate(best, int(space.n), self._rng)
            cost = self._cost(candidate) if len(candidate) <= self._most_passes else least + 1
            if cost <= least:
                best, least = candidate, cost
        for shorter in reductions(best, lambda some: self._cost(some) <= least):
            best = shorter
        return tuple(space.names[action] for action in best)

    def _cost(self, actions: list[int]) -> float:
        self._env.reset(benchmark=self._env.benchmark)
        (cost,), _, done, _ = self._env.multistep(actions, observation_spaces=[COST])
        return float("inf") if done else float(cost)


def select(logarithms: np.ndarray, count: int) -> list[int]:
    """Chooses sequences one by one, each for its gain beyond the ones before.

    Args:
        logarithms: float64 [sequences, programs], the logarithms of the sizes of
            programs divided by those with -Oz.
        count: How many to choose, unless fewer do as well.

    Returns:
        The numbers of the sequences, the most useful first.
    """
    chosen: list[int] = []
    best = logarithms.max(axis=0)
    while len(chosen) < count:
        gains = (best - np.minimum(best, logarithms)).mean(axis=1)
        if gains.max() <= 0:
            break
        chosen.append(int(gains.argmax()))
        best = np.minimum(best, logarithms[chosen[-1]])
    return chosen


# Training of the network. Requires SciPy.


def train(
    features: np.ndarray, logarithms: np.ndarray, units: int, decay: float, seed: int
) -> Network:
    """Returns a network that predicts the effect of sequences on programs.

    Args:
        features: float64 [programs, features].
        logarithms: float64 [programs, sequences], of the sizes divided by those with -Oz.
        units: The number of units of the hidden layer.
        decay: The factor of the squares of the weights, which are added to the mean square of the
        errors.
        seed: Seeds the initial weights.
    """
    from scipy.optimize import minimize  # Slow to import, and not needed by evaluations.

    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = normalised(features, mean, scale)
    rng = np.random.default_rng(seed)
    shapes = (inputs.shape[1], units), (units + 1, logarithms.shape[1])
    first = [rng.normal(scale=shape[0] ** -0.5, size=shape) for shape in shapes]
    border = first[0].size

    def cost(weights: np.ndarray) -> tuple[float, np.ndarray]:
        hidden, output = weights[:border].reshape(shapes[0]), weights[border:].reshape(shapes[1])
        active = np.tanh(inputs @ hidden)
        errors = with_one(active) @ output - logarithms
        slope = 2 * errors / errors.size
        back = (slope @ output[:-1].T) * (1 - active**2)
        gradient = np.concatenate([(inputs.T @ back).ravel(), (with_one(active).T @ slope).ravel()])
        penalty = decay * float(weights @ weights)
        return float((errors**2).mean()) + penalty, gradient + 2 * decay * weights

    start = np.concatenate([each.ravel() for each in first])
    weights = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return Network(
        mean, scale, weights[:border].reshape(shapes[0]), weights[border:].reshape(shapes[1])
    )
