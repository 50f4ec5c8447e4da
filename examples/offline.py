"""Offline learning on a dataset of Minari: behaviour cloning and fitted Q iteration.

Both learn from recorded episodes alone, and are judged on programs that were not recorded.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import minari
import numpy as np
import optax
import typer

import compiler_gym
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.evaluation import Evaluation
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.wrappers import ActionHistogram, AutophaseNorm

FEATURES, TOTAL = len(AUTOPHASE_FEATURE_NAMES), AUTOPHASE_FEATURE_NAMES.index("TotalInsts")
HIDDEN, BATCH, RATE = 128, 500, 1e-3


class Recorded:
    """The episodes of a dataset, observed as through the wrappers of :func:`judged`.

    Attributes:
        episodes: Those of Minari.
        actions_count: The number of actions.
        steps: The most actions of an episode.
        seen: float32[states, features]; the row of a state is followed by that of the next state.
        here: int[transitions], the row of the state.
        actions: int[transitions].
        rewards: float[transitions].
        is_last: bool[transitions], true at the end of an episode.
        returns: float[transitions], the sum of all rewards of the episode.
        programs: int[transitions], the number of the program.
    """

    def __init__(self, name: str):
        dataset = minari.load_dataset(name)
        self.actions_count = int(dataset.action_space.n)
        self.episodes = [*dataset.iterate_episodes()]
        lengths = [len(each.actions) for each in self.episodes]
        self.steps = max(lengths)
        self.seen = np.concatenate([self._observations(each) for each in self.episodes])
        episode = np.repeat(np.arange(len(lengths)), lengths)
        self.here = np.arange(len(episode)) + episode
        self.is_last = np.diff(episode, append=-1) != 0
        self.actions = np.concatenate([each.actions for each in self.episodes])
        self.rewards = np.concatenate([each.rewards for each in self.episodes])
        self.returns = np.array([each.rewards.sum() for each in self.episodes])[episode]
        # The first observation tells programs apart.
        starts = [each.observations[0] for each in self.episodes]
        self.programs = np.unique(starts, axis=0, return_inverse=True)[1].ravel()[episode]

    def _observations(self, episode: minari.EpisodeData) -> np.ndarray:
        counts = np.zeros((len(episode.observations), self.actions_count), dtype=np.float32)
        counts[np.arange(len(episode.actions)) + 1, episode.actions] = 1 / self.steps
        features = episode.observations / max(episode.observations[0, TOTAL], 1)
        return np.concatenate([features, counts.cumsum(axis=0)], axis=1, dtype=np.float32)

    def is_good(self, share: float) -> np.ndarray:
        """Returns bool[transitions]: whether the episode is among the best of its program."""
        numbers = range(self.programs.max() + 1)
        limits = [np.quantile(self.returns[self.programs == each], 1 - share) for each in numbers]
        return self.returns >= np.array(limits)[self.programs]

    def best_list(self) -> list[int]:
        """Returns the list with the best mean reward, of those played with most programs."""
        returns: dict[tuple[int, ...], list[float]] = {}
        for each in self.episodes:
            returns.setdefault((*each.actions.tolist(),), []).append(each.rewards.sum())
        return [*max(returns, key=lambda it: (len(returns[it]), np.mean(returns[it])))]


def network(layers: list, inputs: jnp.ndarray) -> jnp.ndarray:
    """Returns a number for each action: a logit, or the rewards that are expected after it."""
    for weights, biases in layers[:-1]:
        inputs = jax.nn.relu(inputs @ weights + biases)
    return inputs @ layers[-1][0] + layers[-1][1]


def cloning_loss(layers, seen, actions):
    """Returns the loss of a policy that does not take the recorded actions."""
    logs = jax.nn.log_softmax(network(layers, seen))
    return -logs[jnp.arange(len(actions)), actions].mean()


def q_loss(layers, seen, actions, targets, alpha):
    """Returns the error of Q values; alpha lowers those of actions that were not recorded."""
    values = network(layers, seen)
    recorded = values[jnp.arange(len(actions)), actions]
    excess = jax.nn.logsumexp(values, axis=1) - recorded
    return ((recorded - targets) ** 2 / 2 + alpha * excess).mean()


class Learner:
    """A network that is fitted to recorded transitions."""

    def __init__(self, loss: Callable, data: Recorded, seed: int):
        self._rng = np.random.default_rng(seed)
        sizes = (data.seen.shape[1], HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, data.actions_count)
        normal = self._rng.normal
        self._layers = [(normal(scale=a**-0.5, size=(a, b)), np.zeros(b)) for a, b in sizes]
        optimiser = optax.adam(RATE)
        self._state = optimiser.init(self._layers)
        self._values = jax.jit(network)

        @jax.jit
        def update(layers, state, *arrays):
            changes, state = optimiser.update(jax.grad(loss)(layers, *arrays), state)
            return optax.apply_updates(layers, changes), state

        self._update = update

    def fit(self, *data: np.ndarray) -> None:
        """Goes through all rows once, in random order."""
        order = self._rng.permutation(len(data[0]))
        for first in range(0, max(len(order) - BATCH, 0) + 1, BATCH):
            arrays = [each[order[first : first + BATCH]] for each in data]
            self._layers, self._state = self._update(self._layers, self._state, *arrays)

    def values(self, seen: np.ndarray) -> np.ndarray:
        """Returns float[..., actions]."""
        return np.asarray(self._values(self._layers, seen))

    def drawn(self, seen: np.ndarray) -> int:
        """Draws an action, with the values as logits."""
        return int(np.argmax(self.values(seen) + self._rng.gumbel(size=self._layers[-1][1].shape)))

    def best(self, seen: np.ndarray) -> int:
        """Returns the action with the greatest value."""
        return int(np.argmax(self.values(seen)))


def cloned(data: Recorded, share: float, epochs: int, seed: int) -> Learner:
    """Clones the behaviour of the best episodes of each program."""
    learner, rows = Learner(cloning_loss, data, seed), data.is_good(share)
    for _ in range(epochs):
        learner.fit(data.seen[data.here[rows]], data.actions[rows])
    return learner


def fitted_q(data: Recorded, iterations: int, alpha: float, seed: int) -> Learner:
    """Fits Q values to the reward and the best Q value of the next state, again and again."""
    learner = Learner(partial(q_loss, alpha=alpha), data, seed)
    for iteration in range(iterations):
        later = learner.values(data.seen).max(axis=1)[data.here + 1]
        targets = data.rewards + later * (~data.is_last & (iteration > 0))
        learner.fit(data.seen[data.here], data.actions, targets.astype(np.float32))
    return learner


def played(actions: list) -> Callable[[np.ndarray], int | str]:
    """Returns a policy that plays a list; the counts in an observation tell where it is."""
    return lambda seen: actions[round(float(seen[FEATURES:].sum()) * len(actions))]


def judged(name: str, policy: Callable, steps: int, part: str, seeds: int = 1) -> Evaluation:
    """Plays the programs of a part that was not recorded, and prints the result."""
    wrappers = [AutophaseNorm, partial(ActionHistogram, divisor=steps)]
    arguments = {"max_episode_steps": steps, "wrappers": wrappers, "seeds": range(seeds)}
    result = compiler_gym.evaluate(policy, part=part, **arguments)
    print(f"{name}: {result}")
    return result


def main(
    dataset: Annotated[str, typer.Argument(help="The name of a dataset of Minari.")],
    share: Annotated[float, typer.Option(help="Share of the episodes to clone.")] = 0.1,
    epochs: Annotated[int, typer.Option(help="Times to go through them.")] = 20,
    iterations: Annotated[int, typer.Option(help="Number of fits of Q values.")] = 1,
    alpha: Annotated[float, typer.Option(help="Weight of actions that were not recorded.")] = 0.0,
    part: Annotated[str, typer.Option(help="The part to judge by.")] = "validation",
    seed: int = 0,
) -> None:
    """Learn from a dataset to save IR instructions, and show it on other programs."""
    data, rng = Recorded(dataset), np.random.default_rng(seed)
    print(f"{len(data.actions)} transitions of {data.programs.max() + 1} programs")
    judged("random", lambda seen: rng.integers(data.actions_count), data.steps, part, 5)
    best = judged("best recorded list", played(data.best_list()), data.steps, part)
    (sequence,) = Policy.load("sequence").sequences
    judged("sequence", played([*sequence]), len(sequence), part)
    clone = cloned(data, share, epochs, seed)
    learner = fitted_q(data, iterations, alpha, seed)
    for name, policy, seeds in (
        ("cloning, drawn", clone.drawn, 5),
        ("cloning, likeliest", clone.best, 1),
        ("fitted Q", learner.best, 1),
    ):
        result = judged(name, policy, data.steps, part, seeds)
        print(f"{name}, beside the best recorded list: {result.compared_with(best)}")


if __name__ == "__main__":
    typer.run(main)
