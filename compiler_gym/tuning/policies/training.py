"""Finds sequences of passes: a good one for each program, of which the most useful are kept.

What is made small is the mean, over the programs, of the logarithm of their IR instructions divided
by those that -Oz leaves: its exponential is the geometric mean that tables show.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import local

import numpy as np

from compiler_gym.datasets import Benchmark, Datasets
from compiler_gym.datasets.parts import TEST_KERNELS
from compiler_gym.datasets.selection import programs_of
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.tuning.policies.policy import (
    COST,
    FIRST_SEQUENCE,
    Network,
    costs_of,
    features_of,
    mutate,
    normalised,
    with_one,
)
from compiler_gym.util.registration import make
from compiler_gym.util.sequence_reducer import reductions

HELD_BACK_KERNELS = TEST_KERNELS


def training_programs(datasets: Datasets, count: int, seed: int) -> list[str]:
    """Returns the URIs of kernels, and of as many programs of csmith and of real software.

    Args:
        datasets: Those of an environment. Real software is downloaded where need be.
        count: How many of csmith, and of real software.
        seed: Chooses packages of real software, and files of them.
    """
    return programs_of(datasets, "train", count, count, seed)


def held_back_programs(datasets: Datasets, count: int, seed: int) -> list[str]:
    """The same of programs that policies do not learn from."""
    return programs_of(datasets, "test", count, count, seed)


Passes = tuple[str, ...]

# Smaller programs say little: in one of ten instructions, one is ten percent.
_SMALLEST = 100
# What is worse by more than this on the programs looked at so far is given up: in units of the mean
# logarithm over all of them.
_HOPELESS = 0.001
# How many programs are compiled before that is asked.
_CHUNK = 8


class Laboratory:
    """Compiles programs with sequences of passes, some at a time.

    Args:
        programs: Their URIs.
        jobs: How many to compile at a time.
        largest: Programs with more IR instructions are left out, and those with less than 100.

    Attributes:
        programs: The URIs of those that are used.
        names: The names of the passes that there are.
        sizes: The numbers of IR instructions that -Oz leaves of the programs.

    Raises:
        BenchmarkInitError: If one of them cannot be compiled.
    """

    def __init__(self, programs: Iterable[str], jobs: int, largest: int):
        self._executor = ThreadPoolExecutor(jobs)
        self._of_thread = local()
        self._envs: list[LlvmEnv] = []
        self._kept: dict[str, Benchmark] = {}
        uris = [*programs]
        counts = np.array([*self._executor.map(self._counts_of, uris)])
        is_used = (counts[:, 0] >= _SMALLEST) & (counts[:, 0] <= largest)
        self.programs = tuple(uri for uri, used in zip(uris, is_used, strict=True) if used)
        self.sizes = np.maximum(counts[is_used, 1], 1)
        self.names: Passes = tuple(self._envs[0].action_space.names)

    def close(self) -> None:
        """Ends the environments."""
        self._executor.shutdown(cancel_futures=True)
        for env in self._envs:
            env.close()

    def tuned(self, tries: int, most_passes: int, seed: int) -> Iterator[Passes]:
        """Yields a sequence for each program that is good for it.

        Args:
            tries: How many to try for each.
            most_passes: How many there may be.
            seed: Repeats a search.
        """

        def tune(number: int) -> Passes:
            search = _Search(self._env_of(self.programs[number]), most_passes, seed + number)
            return search.run(tries)

        yield from self._executor.map(tune, range(len(self.programs)))

    def logarithms(self, passes: Passes, programs: Sequence[int] | None = None) -> np.ndarray:
        """Returns what the best beginning of a sequence does to programs.

        Args:
            passes: The sequence.
            programs: Their numbers; all by default.

        Returns:
            float64 [programs], the logarithms of their sizes divided by those with -Oz.
        """
        numbers = range(len(self.programs)) if programs is None else programs

        def cost(number: int) -> int:
            return min(costs_of(self._env_of(self.programs[number]), passes))

        costs = np.array([*self._executor.map(cost, numbers)], dtype=np.float64)
        return np.log(costs / self.sizes[list(numbers)])

    def features(self) -> np.ndarray:
        """Returns float64 [programs, features], what networks see of the programs."""

        def look(program: str) -> np.ndarray:
            return features_of(self._env_of(program))

        return np.stack([*self._executor.map(look, self.programs)])

    def _env_of(self, program: str) -> LlvmEnv:
        """Returns the environment of this thread, in an episode of a program."""
        if not hasattr(self._of_thread, "env"):
            self._of_thread.env = make("llvm-v0")
            self._envs.append(self._of_thread.env)
        env: LlvmEnv = self._of_thread.env
        if program not in self._kept:
            # Programs that are generated would be made again each time.
            self._kept[program] = env.datasets.benchmark(program)
        env.reset(benchmark=self._kept[program])
        return env

    def _counts_of(self, program: str) -> list[int]:
        """Returns the numbers of IR instructions as it is, and with -Oz."""
        observation = self._env_of(program).observation
        return [int(observation[COST]), int(observation[f"{COST}Oz"])]


class _Search:
    """Looks for a sequence that is good for one program."""

    def __init__(self, env: LlvmEnv, most_passes: int, seed: int):
        self._env = env
        self._most_passes = most_passes
        self._rng = random.Random(seed)

    def run(self, tries: int) -> Passes:
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
    """Chooses sequences, each of which makes programs smaller that the ones before do not.

    Args:
        logarithms: float64 [sequences, programs], as :meth:`Laboratory.logarithms` returns them.
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


class Refinement:
    """Changes a sequence a little, again and again, and keeps what is better for the programs.

    Args:
        laboratory: Compiles.
        passes: The sequence to begin with.
        most_passes: How many passes there may be.
        seed: Repeats it.

    Attributes:
        passes: The best sequence so far.
        row: float64 [programs], the logarithms.
    """

    def __init__(self, laboratory: Laboratory, passes: Passes, most_passes: int, seed: int):
        self._laboratory = laboratory
        self._most_passes = most_passes
        self._rng = random.Random(seed)
        self.passes = passes
        self.row = laboratory.logarithms(passes)

    def step(self) -> bool:
        """Tries one change; whether it is kept."""
        names = self._laboratory.names
        actions = mutate([names.index(name) for name in self.passes], len(names), self._rng)
        candidate = tuple(names[action] for action in actions)
        if not 0 < len(candidate) <= self._most_passes:
            return False
        row = self._row_unless_worse(candidate)
        if row is None:
            return False
        self.passes, self.row = candidate, row
        return True

    def _row_unless_worse(self, candidate: Passes) -> np.ndarray | None:
        """Returns the logarithms of a sequence; None if they are worse."""
        count = len(self.row)
        programs = self._rng.sample(range(count), count)
        row = np.zeros(count)
        worse = 0.0
        for begin in range(0, count, _CHUNK):
            chunk = programs[begin : begin + _CHUNK]
            row[chunk] = self._laboratory.logarithms(candidate, chunk)
            worse += float((row - self.row)[chunk].sum())
            if worse > _HOPELESS * count:
                return None
        return row if worse <= 0 else None


# Training of the network. Requires SciPy.


def train(
    features: np.ndarray, logarithms: np.ndarray, units: int, decay: float, seed: int
) -> Network:
    """Returns a network that predicts what sequences do to programs.

    Args:
        features: float64 [programs, features].
        logarithms: float64 [programs, sequences], see above.
        units: How many the hidden layer has.
        decay: How much large weights cost: their squares times this are added to the mean square
            of the errors.
        seed: Of the first weights.
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
