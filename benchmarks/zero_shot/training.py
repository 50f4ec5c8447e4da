"""Training of policies, and search of lists of actions."""

import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np

from benchmarks.zero_shot.task import ENV_ID, Setting
from compiler_gym.envs import CompilerEnv
from compiler_gym.tuning.policies.pieces_env import PIECE, pieces
from compiler_gym.tuning.policies.policy import COST, Policy, mutate
from compiler_gym.util.runfiles_path import runfiles_path

sys.path.insert(0, str(runfiles_path("examples")))

import ppo


def train(
    setting: Setting, benchmarks: list[str], passes: int, seed: int
) -> Iterator[tuple[int, list[Any]]]:
    """Trains by proximal policy optimisation until so many passes have run.

    Yields:
        The passes run, and the weights, after each update.
    """
    schedule = setting.rollout, setting.epochs, setting.batch, setting.rate
    with setting.training_envs(benchmarks) as envs:
        for made, layers, _ in ppo.learn(envs, sys.maxsize, seed, *schedule):
            counts = [getattr(each.compiler_env, "passes_run", 0) for each in envs.envs]
            run = sum(counts) or made
            yield run, layers
            if run >= passes:
                return


def imitate(
    setting: Setting, benchmarks: list[str], passes: int, seed: int
) -> Iterator[tuple[int, list[Any]]]:
    """Trains a network to choose for each program what the best sequence of the coreset does.

    All sequences are tried on programs drawn at random, until so many passes have run.

    Args:
        setting: A setting whose actions are :func:`pieces`.
        benchmarks: The programs to learn from.
        passes: The number of passes.
        seed: Seeds the choice of programs and the network.

    Yields:
        The passes run, and the weights, at the end.
    """
    cut = pieces()
    lists = [
        [cut.index(each[begin : begin + PIECE]) for begin in range(0, len(each), PIECE)]
        for each in Policy.load("coreset").sequences
    ]
    rng = np.random.default_rng(seed)
    seen: list[np.ndarray] = []
    done: list[int] = []
    with gymnasium.make(ENV_ID, max_episode_steps=setting.steps, wrappers=setting.wrappers) as env:
        inside: CompilerEnv = env.unwrapped.compiler_env  # type: ignore[attr-defined]
        for uri in itertools.cycle(rng.permutation(benchmarks)):
            episodes = [_episode(env, actions, str(uri)) for actions in lists]
            best = min(range(len(lists)), key=lambda number: min(episodes[number][1]))
            observations, sizes = episodes[best]
            end = int(np.argmin(sizes))
            seen += observations[:end]
            done += lists[best][:end]
            if inside.passes_run >= passes:
                break
        layers = _cloned(np.array(seen), np.array(done), len(cut), rng)
        yield inside.passes_run, layers


def _cloned(
    seen: np.ndarray, done: np.ndarray, actions: int, rng: np.random.Generator
) -> list[Any]:
    """Returns the weights of a network that chooses the same actions after these observations."""
    import jax
    import optax

    sizes = (seen.shape[1], 128), (128, 128), (128, actions + 1)
    layers = [(rng.normal(scale=0.1, size=size), np.zeros(size[1])) for size in sizes]
    optimiser = optax.adam(1e-3)
    state = optimiser.init(layers)

    @jax.jit
    @jax.grad
    def gradient(layers: Any, seen: Any, done: Any) -> Any:
        return -ppo.network(layers, seen)[0][np.arange(_BATCH), done].mean()

    for _ in range(_UPDATES):
        rows = rng.integers(len(done), size=_BATCH)
        changes, state = optimiser.update(gradient(layers, seen[rows], done[rows]), state)
        layers = optax.apply_updates(layers, changes)
    return layers


_UPDATES, _BATCH = 300, 128


def search_fixed(
    setting: Setting, start: Sequence[int], benchmarks: list[str], passes: int, seed: int
) -> Iterator[tuple[int, list[int]]]:
    """Searches a list of actions that is good for all programs, until so many passes have run.

    Local search changes the list at random. A change is tried on 32 programs in groups of eight,
    and given up as soon as they are larger in the geometric mean.

    Yields:
        The passes run, and the best list, after each try.
    """
    rng = random.Random(seed)
    some = rng.sample(benchmarks, min(_TRIED, len(benchmarks)))
    with gymnasium.make(ENV_ID, max_episode_steps=setting.steps, wrappers=setting.wrappers) as env:
        inside: CompilerEnv = env.unwrapped.compiler_env  # type: ignore[attr-defined]
        actions_run = 0

        def logarithms(actions: list[int], uris: list[str]) -> dict[str, float]:
            nonlocal actions_run
            actions_run += len(actions) * len(uris)
            return {uri: float(np.log(_least(env, actions, uri))) for uri in uris}

        best = list(start)
        least = logarithms(best, some)
        while (run := getattr(inside, "passes_run", actions_run)) < passes:
            yield run, best
            candidate = mutate(best, int(env.action_space.n), rng)
            if not 0 < len(candidate) <= setting.steps:
                continue
            rng.shuffle(some)
            found: dict[str, float] = {}
            for begin in range(0, len(some), _GROUP):
                found |= logarithms(candidate, some[begin : begin + _GROUP])
                if sum(found.values()) > sum(least[uri] for uri in found):
                    break
            else:
                best, least = candidate, found
        yield run, best


_TRIED, _GROUP = 32, 8


def _least(env: gymnasium.Env, actions: list[int], uri: str) -> float:
    """Returns the smallest number of instructions of an episode."""
    return min(_episode(env, actions, uri)[1])


def _episode(
    env: gymnasium.Env, actions: list[int], uri: str
) -> tuple[list[np.ndarray], list[float]]:
    """Plays actions; returns the observations before each, and the sizes before and after."""
    observation, _ = env.reset(options={"benchmark": uri})
    inside: CompilerEnv = env.unwrapped.compiler_env  # type: ignore[attr-defined]
    seen, sizes = [], [float(inside.observation[COST])]
    for action in actions:
        seen.append(observation)
        observation, _, terminated, *_ = env.step(action)
        if terminated:
            break
        sizes.append(float(inside.observation[COST]))
    return seen, sizes
