"""Learners that repeat themselves: more and more in this order."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler_gym.envs import CompilerEnv

Trace = Iterator[float]
"""The rewards of the steps, while they are made."""

Learner = Callable[[CompilerEnv, int, int, np.random.Generator], Trace]
"""Learns for so many episodes of so many steps."""

_POPULATION = 24
_PARENTS = 6
_BATCH = 16
_EPOCHS = 4
_CLIP = 0.2
_RATE = 3.0
_EXPLORATION = 0.03


def play(env: CompilerEnv, actions: Iterator[int] | list[int]) -> Trace:
    """Plays one episode."""
    env.reset()
    for action in actions:
        _, reward, done, _ = env.step(int(action))
        yield float(reward)
        if done:
            return


def uniform(env: CompilerEnv, episodes: int, steps: int, random: np.random.Generator) -> Trace:
    """Takes any action at any time."""
    for _ in range(episodes):
        yield from play(env, list(random.integers(env.action_space.n, size=steps)))


def genetic(env: CompilerEnv, episodes: int, steps: int, random: np.random.Generator) -> Trace:
    """Crosses and mutates the best sequences of each generation."""
    count = env.action_space.n
    sequences = [random.integers(count, size=steps) for _ in range(_POPULATION)]
    for first in range(0, episodes, _POPULATION):
        fitness = []
        for sequence in sequences[: episodes - first]:
            rewards = []
            for reward in play(env, sequence):
                rewards.append(reward)
                yield reward
            fitness.append(sum(rewards))
        best = [sequences[i] for i in np.argsort(fitness)[::-1][:_PARENTS]]
        sequences = [*best, *(_child(best, count, random) for _ in range(_POPULATION - _PARENTS))]


def _child(parents: list[Any], count: int, random: np.random.Generator) -> np.ndarray:
    one, other = (parents[i] for i in random.integers(len(parents), size=2))
    cut = random.integers(len(one))
    child = np.concatenate([one[:cut], other[cut:]])
    child[random.integers(len(child))] = random.integers(count)
    return child


def policy_gradient(
    env: CompilerEnv, episodes: int, steps: int, random: np.random.Generator
) -> Trace:
    """Proximal policy optimisation (arXiv:1707.06347) of a linear policy of time and Autophase.

    With a share of uniform exploration, and the mean return after as many steps as the baseline.
    """
    count = env.action_space.n
    weights = np.zeros((steps + 56, count))
    for first in range(0, episodes, _BATCH):
        batch = []
        for _ in range(min(_BATCH, episodes - first)):
            episode: list[tuple[np.ndarray, int, float, float]] = []
            observation, done = env.reset(), False
            for step in range(steps):
                features = np.zeros(len(weights))
                features[step] = 1
                features[steps:] = observation / max(observation[51], 1)
                odds = _odds(weights, features)
                action = int(random.choice(count, p=odds))
                observation, reward, done, _ = env.step(action)
                episode.append((features, action, float(odds[action]), float(reward)))
                yield float(reward)
                if done:
                    break
            batch.append(episode)
        weights = _improved(weights, batch)


def _odds(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    logits = features @ weights
    odds = np.exp(logits - logits.max())
    odds = odds / odds.sum()
    return (1 - _EXPLORATION) * odds + _EXPLORATION / len(odds)


def _improved(weights: np.ndarray, batch: list[Any]) -> np.ndarray:
    returns = [np.cumsum([reward for *_, reward in episode[::-1]])[::-1] for episode in batch]
    means = [
        np.mean([each[i] for each in returns if i < len(each)])
        for i in range(max(map(len, returns)))
    ]
    advantages = np.concatenate([each - means[: len(each)] for each in returns])
    advantages /= advantages.std() + 1e-8
    steps = [step for episode in batch for step in episode]
    for _ in range(_EPOCHS):
        gradient = np.zeros_like(weights)
        for (features, action, former, _), advantage in zip(steps, advantages, strict=True):
            odds = _odds(weights, features)
            ratio = odds[action] / former
            if (ratio - 1) * np.sign(advantage) > _CLIP:
                continue
            slope = -odds
            slope[action] += 1
            gradient += np.outer(features, ratio * advantage * slope)
        weights = weights + _RATE * gradient / len(batch)
    return weights


LEARNERS: dict[str, Learner] = {
    "random": uniform,
    "genetic": genetic,
    "policy": policy_gradient,
}
