"""Steps per second and processor time of several environments, by several ways to step them."""

import multiprocessing
import statistics
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

import compiler_gym
from benchmarks.machine import own_cpu_seconds
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.wrappers import ActionHistogram, AutophaseNorm

LOOP = "one after the other"
VECTOR = "vector"
READY = "vector, those ready"
SYNC = "gymnasium SyncVectorEnv"
GYMNASIUM = "gymnasium AsyncVectorEnv"
WAYS = (LOOP, VECTOR, READY, SYNC, GYMNASIUM)
"""In a loop; ``make_vec()`` with ``step()``; with ``send()`` and ``recv()``; in a loop of
gymnasium; a process for each."""

WRAPPERS: tuple[Callable[[Any], Any], ...] = (AutophaseNorm, ActionHistogram)
"""Wrappers that learners use."""

EPISODE_STEPS = 40
_ID = "llvm-autophase-ic-v0"
_SEED = 0


Programs = dict[str, Any]
"""The programs of the episodes, as arguments of :func:`compiler_gym.make`."""

RANDOM: Programs = {"benchmarks": "kernels-v0", "random_benchmarks": True}
"""Random programs, as learners use them."""


class Way:
    """Several environments, and a way to step them.

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

    def client_seconds(self) -> float:
        """Returns the processor time of the Python processes so far."""
        return time.process_time()


class Loop(Way):
    """Steps classic environments, which share a service, one after the other."""

    def __init__(self, programs: Programs, count: int, is_wrapped: bool):
        envs = [compiler_gym.make(_ID, **programs)]
        while len(envs) < count:
            envs.append(compiler_gym.make(_ID, service_connection=envs[0].service, **programs))
        self._envs = [_wrapped(env) if is_wrapped else env for env in envs]
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

    def __init__(self, programs: Programs, count: int, is_wrapped: bool):
        self._envs = self._make(programs, count, is_wrapped)
        self._envs.reset()

    def _make(self, programs: Programs, count: int, is_wrapped: bool) -> VectorEnv:
        return compiler_gym.make_vec(
            _ID,
            count,
            max_episode_steps=EPISODE_STEPS,
            autoreset_mode="SameStep",
            wrappers=WRAPPERS if is_wrapped else (),
            **programs,
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


class Sync(Vector):
    """Steps gymnasium's vector environment, which steps one after the other."""

    _mode = "sync"

    def _make(self, programs: Programs, count: int, is_wrapped: bool) -> VectorEnv:
        return gymnasium.make_vec(
            _WRAPPED if is_wrapped else _ID,
            num_envs=count,
            vectorization_mode=self._mode,
            vector_kwargs={"autoreset_mode": "SameStep"},
            max_episode_steps=EPISODE_STEPS,
            **programs,
        )


class Gymnasium(Sync):
    """Steps gymnasium's vector environment with a Python process and a service for each."""

    _mode = "async"

    def __init__(self, programs: Programs, count: int, is_wrapped: bool):
        others = set(multiprocessing.active_children())
        super().__init__(programs, count, is_wrapped)
        started = set(multiprocessing.active_children()) - others
        self._pids = [process.pid for process in started if process.pid is not None]

    def client_seconds(self) -> float:
        return super().client_seconds() + sum(map(own_cpu_seconds, self._pids))


def _wrapped(env: Any) -> Any:
    for wrap in WRAPPERS:
        env = wrap(env)
    return env


def make_wrapped(**kwargs: Any) -> gymnasium.Env:
    """Makes an environment with :data:`WRAPPERS` and the interface of gymnasium."""
    return GymnasiumEnv(_wrapped(compiler_gym.make(_ID, **kwargs)))


_WRAPPED = "wrapped-for-measurements-v0"
gymnasium.register(id=_WRAPPED, entry_point=make_wrapped, disable_env_checker=True)

_CLASSES: dict[str, type[Any]] = {
    LOOP: Loop,
    VECTOR: Vector,
    READY: Ready,
    SYNC: Sync,
    GYMNASIUM: Gymnasium,
}


@dataclass
class Measured:
    """Measurements of a way.

    Attributes:
        rates: The steps per second of all environments together, in each round.
        client_microseconds: The processor time of the Python processes for a step, in each round.
    """

    rates: list[float] = field(default_factory=list)
    client_microseconds: list[float] = field(default_factory=list)


def measure(
    program: Path | None,
    count: int,
    rounds: int,
    ways: Sequence[str] = WAYS,
    is_wrapped: bool = False,
) -> dict[str, Measured]:
    """Measures ways to step environments.

    In each round all ways play an episode with the same random actions, one way after the other,
    beginning with another each time, so that what slows down the machine slows down all of them.

    Args:
        program: A bitcode file; None for :data:`RANDOM`.
        count: The number of environments.
        rounds: The number of rounds, after one that does not count.
        ways: Some of :data:`WAYS`.
        is_wrapped: Put :data:`WRAPPERS` around each environment.

    Returns:
        The measurements by way.
    """
    programs = RANDOM
    if program is not None:
        benchmark = Benchmark.from_file("benchmark://user-v0/measured", program)
        programs = {"benchmark": benchmark}
    rng = np.random.default_rng(_SEED)
    measured = {way: Measured() for way in ways}
    with ExitStack() as stack:
        players = {}
        for way in ways:
            players[way] = _CLASSES[way](programs, count, is_wrapped)
            stack.callback(players[way].close)
        with compiler_gym.make(_ID) as env:
            action_count = env.action_space.n
        for turn in range(rounds + 1):
            actions = rng.integers(action_count, size=(EPISODE_STEPS, count))
            order = [*ways[turn % len(ways) :], *ways[: turn % len(ways)]]
            for way in order:
                begin, used = time.perf_counter(), players[way].client_seconds()
                players[way].play(actions)
                seconds = time.perf_counter() - begin
                used = players[way].client_seconds() - used
                if turn:
                    measured[way].rates.append(actions.size / seconds)
                    measured[way].client_microseconds.append(1e6 * used / actions.size)
    return measured


def median_ratio(rates: Sequence[float], others: Sequence[float]) -> float:
    """The median of how many times as fast something was as something else in the same round."""
    return statistics.median(one / other for one, other in zip(rates, others, strict=True))
