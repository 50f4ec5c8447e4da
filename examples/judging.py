"""Evaluation of a policy on held-out programs.

A policy is a function from observations, float32[n, features], to actions, int[n].
"""

from collections.abc import Callable

import held_back
import numpy as np

from compiler_gym.vector import CompilerVectorEnv

Policy = Callable[[np.ndarray], np.ndarray]

SHOWN_EVERY, TRIES = 4_800, 5


def drawing(log_probabilities: Policy, rng: np.random.Generator) -> Policy:
    """Draws actions as likely as a function from observations to float[n, actions] says."""

    def policy(observations: np.ndarray) -> np.ndarray:
        logs = np.asarray(log_probabilities(observations))
        return np.argmax(logs + rng.gumbel(size=logs.shape), axis=-1)

    return policy


def play(envs: CompilerVectorEnv, policy: Policy, observations: np.ndarray, steps: int) -> tuple:
    """Returns observations [steps + 1, n, features], actions, rewards and ends [steps, n]."""
    seen, done = [observations], []
    for _ in range(steps):
        actions = policy(seen[-1])
        observations, rewards, failed, cut, _ = envs.step(actions)
        seen.append(observations)
        done.append((actions, rewards, failed | cut))
    return np.array(seen), *map(np.array, zip(*done, strict=True))


def judge(policy: Policy, episodes: int = 1) -> np.ndarray:
    """Plays the programs that were held back.

    Returns float[episodes, programs]: the best that was seen on the way, as a share of what -Oz
    saves: 0 is the program as it was, 1 is as with -Oz.
    """
    best = []
    with held_back.judging_envs() as envs:
        for _ in range(episodes):
            observations, _ = envs.reset()
            *_, rewards, ends = play(envs, policy, observations, held_back.EPISODE_STEPS)
            totals = np.cumsum(np.where(np.cumsum(ends, axis=0), 0, rewards), axis=0)
            best.append(totals.max(axis=0, initial=0))
    return np.array(best)


def show(steps: int, policy: Policy) -> None:
    """Prints now and then how good a policy is that has learnt from so many steps."""
    if steps % SHOWN_EVERY == 0:
        results = judge(policy, TRIES)
        once, best = results.mean(), results.max(axis=0).mean()
        print(f"{steps} steps: {once:.1%} of what -Oz saves, {best:.1%} in the best of {TRIES}")
