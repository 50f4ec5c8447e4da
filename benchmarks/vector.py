"""The steps per second of several environments, by several ways to step them."""

import statistics
import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

import compiler_gym
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv

LOOP = "one after the other"
VECTOR = "vector"
READY = "vector, those ready"
GYMNASIUM = "gymnasium AsyncVectorEnv"
WAYS = (LOOP, VECTOR, READY, GYMNASIUM)
"""In a loop; ``make_vec()`` with ``step()``; with ``send()`` and ``recv()``; a process for each."""

EPISODE_STEPS = 40
_ID = "llvm-autophase-ic-v0"
_SEED = 0


class Way:
    """Several environments on one program, and a way to step them.

    Episodes end after :data:`EPISODE_STEPS` steps, or by a crash, and the next begins at once.
    """

    @abstractmethod
    def play(self, actions: np.ndarray) -> None:
        """Makes steps.

        Args:
            actions: An action for each step and environment, int64[steps, environments].
        """

    @abstractmethod
    def close(self) -> None:
        """Ends all of them."""


class Loop(Way):
    """Steps classic environments, which share a service, one after the other."""

    def __init__(self, benchmark: Benchmark, count: int):
        first = compiler_gym.make(_ID, benchmark=benchmark)
        self._envs: list[LlvmEnv] = [first, *(first.sibling() for _ in range(count - 1))]
        self._left = [EPISODE_STEPS] * count
        for env in self._envs:
            env.reset()

    def play(self, actions: np.ndarray) -> None:
        left = self._left
        for row in actions.tolist():
            for number, env in enumerate(self._envs):
                done = env.step(row[number])[2]
                left[number] -= 1
                if done or not left[number]:
                    env.reset()
                    left[number] = EPISODE_STEPS

    def close(self) -> None:
        for env in self._envs:
            env.close()


class Vector(Way):
    """Steps a vector environment."""

    def __init__(self, benchmark: Benchmark, count: int):
        self._envs = self._make(benchmark, count)
        self._envs.reset()

    def _make(self, benchmark: Benchmark, count: int) -> VectorEnv:
        return compiler_gym.make_vec(
            _ID,
            count,
            benchmark=benchmark,
            max_episode_steps=EPISODE_STEPS,
            autoreset_mode="SameStep",
        )

    def play(self, actions: np.ndarray) -> None:
        for row in actions:
            self._envs.step(row)

    def close(self) -> None:
        self._envs.close()


class Ready(Vector):
    """Steps those environments of a vector environment that are ready, at least one at a time."""

    def play(self, actions: np.ndarray) -> None:
        steps, count = actions.shape
        made = np.ones(count, np.int64)
        left = actions.size
        self._envs.send(actions[0])
        while left:
            ids = self._envs.recv()[4]["env_id"]
            left -= len(ids)
            ids = ids[made[ids] < steps]
            if len(ids):
                self._envs.send(actions[made[ids], ids], ids)
                made[ids] += 1


class Gymnasium(Vector):
    """Steps gymnasium's vector environment with a Python process and a service for each."""

    def _make(self, benchmark: Benchmark, count: int) -> VectorEnv:
        return gymnasium.make_vec(
            _ID,
            num_envs=count,
            vectorization_mode="async",
            vector_kwargs={"autoreset_mode": "SameStep"},
            max_episode_steps=EPISODE_STEPS,
            benchmark=benchmark,
        )


_CLASSES: dict[str, type[Way]] = {LOOP: Loop, VECTOR: Vector, READY: Ready, GYMNASIUM: Gymnasium}


def steps_per_second(
    program: Path, count: int, rounds: int, ways: Sequence[str] = WAYS
) -> dict[str, list[float]]:
    """Measures steps per second, of all environments together.

    In each round all ways play an episode with the same random actions, one way after the other,
    beginning with another each time, so that what slows down the machine slows down all of them.

    Args:
        program: A bitcode file.
        count: How many environments.
        rounds: How many rounds, after one that does not count.
        ways: Some of :data:`WAYS`.

    Returns:
        The steps per second in each round, by way.
    """
    benchmark = Benchmark.from_file("benchmark://user-v0/measured", program)
    rng = np.random.default_rng(_SEED)
    rates: dict[str, list[float]] = {way: [] for way in ways}
    with ExitStack() as stack:
        players = {}
        for way in ways:
            players[way] = _CLASSES[way](benchmark, count)
            stack.callback(players[way].close)
        with compiler_gym.make(_ID) as env:
            action_count = env.action_space.n
        for turn in range(rounds + 1):
            actions = rng.integers(action_count, size=(EPISODE_STEPS, count))
            order = [*ways[turn % len(ways) :], *ways[: turn % len(ways)]]
            for way in order:
                begin = time.perf_counter()
                players[way].play(actions)
                rate = actions.size / (time.perf_counter() - begin)
                if turn:
                    rates[way].append(rate)
    return rates


def median_ratio(rates: Sequence[float], others: Sequence[float]) -> float:
    """The median of how many times as fast something was as something else in the same round."""
    return statistics.median(one / other for one, other in zip(rates, others, strict=True))
