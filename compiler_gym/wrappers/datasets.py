"""Wrappers that choose a benchmark for each episode."""

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from typing_extensions import override

from compiler_gym.datasets import AnyBenchmark, Benchmark, BenchmarkUri, Dataset, Subset
from compiler_gym.datasets.dataset import BenchmarkChoice
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

_NO_BENCHMARKS = "There are no benchmarks to choose from"


class _ChoosesBenchmarks(CompilerEnvWrapper):
    """Base class that chooses a benchmark for each episode."""

    # The benchmark chosen in advance for the next reset.
    _prepared: AnyBenchmark | None = None
    # The benchmark of the last reset.
    _chosen: AnyBenchmark | None = None

    def _next_benchmark(self) -> AnyBenchmark:
        """Returns the benchmark of the next episode."""
        raise NotImplementedError

    @override
    def reset(self, benchmark: AnyBenchmark | None = None, *args: Any, **kwargs: Any) -> Any:
        if benchmark is not None:
            raise TypeError(
                f"Benchmark passed to {type(self).__name__}.reset(), which chooses them itself"
            )
        prepared, self._prepared = self._prepared, None
        self._chosen = self._next_benchmark() if prepared is None else prepared
        return super().reset(self._chosen, *args, **kwargs)

    @override
    def _give_back_benchmark(self) -> None:
        self._prepared = self._chosen
        super()._give_back_benchmark()

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name in ("_prepared", "_chosen"):
            return value
        return super().fork_attribute(name, value, memo)

    @override
    def prepare_reset(
        self, benchmark: AnyBenchmark | None = None, timeout: float = TIMEOUT
    ) -> None:
        if self._prepared is None:
            self._prepared = self._next_benchmark()
        super().prepare_reset(self._prepared, timeout=timeout)


def _first_of(benchmarks: Iterator[AnyBenchmark]) -> AnyBenchmark:
    for benchmark in benchmarks:
        return benchmark
    raise ValueError(_NO_BENCHMARKS)


class IterateOverBenchmarks(_ChoosesBenchmarks):
    """Uses the next of a list of benchmarks for each episode.

    After the last of them, :meth:`reset` raises StopIteration.

    Args:
        env: The environment.
        benchmarks: The benchmarks, perhaps infinitely many. They are taken one by one.
        fork_shares_iterator: A fork and its parent take benchmarks from the same iterator. If
            false, a fork continues independently with the same benchmarks; those that one of them
            has taken first are remembered for the other.
    """

    def __init__(
        self,
        env: CompilerEnv,
        benchmarks: Iterable[AnyBenchmark],
        fork_shares_iterator: bool = False,
    ):
        super().__init__(env)
        self.fork_shares_iterator = fork_shares_iterator
        self._benchmarks = _forkable(_several(benchmarks))

    @override
    def _next_benchmark(self) -> AnyBenchmark:
        return next(self._benchmarks)

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name == "_prepared" and self.fork_shares_iterator:
            return None
        if name == "_benchmarks":
            return value if self.fork_shares_iterator else copy.copy(value)
        return super().fork_attribute(name, value, memo)


class CycleOverBenchmarks(IterateOverBenchmarks):
    """Uses the next benchmark for each episode, and starts over after the last.

    Keeps all benchmarks in memory. See :class:`CycleOverBenchmarksIterator` for very many.
    """

    def __init__(
        self,
        env: CompilerEnv,
        benchmarks: Iterable[AnyBenchmark],
        fork_shares_iterator: bool = False,
    ):
        super().__init__(env, itertools.cycle(_several(benchmarks)), fork_shares_iterator)

    @override
    def _next_benchmark(self) -> AnyBenchmark:
        return _first_of(self._benchmarks)


class CycleOverBenchmarksIterator(_ChoosesBenchmarks):
    """Uses the next benchmark of an iterator for each episode, and a new iterator after the last.

    Args:
        env: The environment.
        make_benchmark_iterator: Called without arguments; returns the benchmarks. A fork continues
            at its parent's position, with its own calls after that.
    """

    def __init__(
        self, env: CompilerEnv, make_benchmark_iterator: Callable[[], Iterable[AnyBenchmark]]
    ):
        super().__init__(env)
        self.make_benchmark_iterator = make_benchmark_iterator
        self._benchmarks = _forkable(make_benchmark_iterator())

    @override
    def _next_benchmark(self) -> AnyBenchmark:
        try:
            return next(self._benchmarks)
        except StopIteration:
            self._benchmarks = _forkable(self.make_benchmark_iterator())
            return _first_of(self._benchmarks)

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name == "make_benchmark_iterator":
            return value
        if name == "_benchmarks":
            return copy.copy(value)
        return super().fork_attribute(name, value, memo)


class RandomOrderBenchmarks(_ChoosesBenchmarks):
    """Uses a random benchmark for each episode.

    Args:
        env: The environment.
        benchmarks: The benchmarks. They are kept in memory.
        rng: The random generator. :meth:`seed` replaces it. A fork continues with a copy.

    Raises:
        ValueError: If there are no benchmarks.
    """

    def __init__(
        self,
        env: CompilerEnv,
        benchmarks: Iterable[AnyBenchmark],
        rng: np.random.Generator | None = None,
    ):
        super().__init__(env)
        self._all_benchmarks = tuple(_several(benchmarks))
        if not self._all_benchmarks:
            raise ValueError(_NO_BENCHMARKS)
        self.rng = np.random.default_rng() if rng is None else rng

    @override
    def seed(self, seed: int | None = None) -> list[int | None]:
        self.rng = np.random.default_rng(seed)
        self._prepared = None
        return super().seed(seed)

    @override
    def _next_benchmark(self) -> AnyBenchmark:
        return self._all_benchmarks[self.rng.integers(len(self._all_benchmarks))]

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name == "_all_benchmarks":
            return value
        return super().fork_attribute(name, value, memo)


class _RandomOfDataset(_ChoosesBenchmarks):
    """Uses a random benchmark of a dataset, perhaps an infinite one, for each episode."""

    def __init__(self, env: CompilerEnv, dataset: Dataset):
        super().__init__(env)
        self._dataset = dataset
        self._rng = np.random.default_rng()

    @override
    def seed(self, seed: int | None = None) -> list[int | None]:
        self._rng = np.random.default_rng(seed)
        self._prepared = None
        return super().seed(seed)

    @override
    def _next_benchmark(self) -> AnyBenchmark:
        return self._dataset.random_benchmark(self._rng)

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        return value if name == "_dataset" else super().fork_attribute(name, value, memo)


def with_benchmarks(
    env: CompilerEnv, benchmarks: BenchmarkChoice, is_random: bool = False, **choice: Any
) -> CompilerEnv:
    """Wraps an environment so that episodes use given benchmarks.

    Args:
        env: The environment.
        benchmarks: Same as in :func:`compiler_gym.make`.
        is_random: Take them in random order.
        **choice: Arguments of :class:`compiler_gym.datasets.Subset`. None is ignored.

    Raises:
        LookupError: If there is no dataset of that name.
        DatasetInitError: If the dataset cannot be installed.
        TypeError: If the argument has another type.
        ValueError: If there are no benchmarks, or one is named in place of a dataset.
    """
    choice = {name: value for name, value in choice.items() if value is not None}
    if choice and isinstance(benchmarks, str | Dataset):
        # Installing all of it could take much longer than the programs that are used.
        dataset = env.datasets.named(benchmarks) if isinstance(benchmarks, str) else benchmarks
        benchmarks = Subset(dataset, **choice)
    if choice and not isinstance(benchmarks, Subset):
        raise TypeError(f"{', '.join(choice)}: expected benchmarks= to be a dataset or its name")
    if isinstance(benchmarks, str | Dataset):
        dataset = env.datasets.require(benchmarks) if isinstance(benchmarks, str) else benchmarks
        dataset.install()
        if is_random:
            return _RandomOfDataset(env, dataset)
        return CycleOverBenchmarksIterator(env, dataset.benchmarks)
    if isinstance(benchmarks, Benchmark | BenchmarkUri) or not isinstance(benchmarks, Iterable):
        raise TypeError(
            "benchmarks=... is a dataset or its name, or several benchmarks or their URIs, not a "
            f"{type(benchmarks).__name__}. For a single one write benchmark=..."
        )
    if is_random:
        return RandomOrderBenchmarks(env, benchmarks)
    if isinstance(benchmarks, Iterator):
        return IterateOverBenchmarks(env, benchmarks)
    benchmarks = list(benchmarks)
    if not benchmarks:
        raise ValueError(_NO_BENCHMARKS)
    return CycleOverBenchmarks(env, benchmarks)


def with_shared_benchmarks(
    envs: list[CompilerEnv], benchmarks: BenchmarkChoice, is_random: bool = False, **choice: Any
) -> list[CompilerEnv]:
    """Wraps several environments, which take turns with the benchmarks.

    Each benchmark goes to one environment only. With random order, each environment draws for
    itself.

    Args:
        envs: The environments, which have the same datasets.
        benchmarks: Same as in :func:`with_benchmarks`.
        is_random: Take them in random order.
        **choice: Same as in :func:`with_benchmarks`.

    Raises:
        Exception: Any error of :func:`with_benchmarks`.
    """
    if is_random:
        if isinstance(benchmarks, Iterator):
            benchmarks = list(benchmarks)
        return [with_benchmarks(env, benchmarks, is_random, **choice) for env in envs]
    # One of the wrappers of this module.
    first: Any = with_benchmarks(envs[0], benchmarks, **choice)
    chosen = iter(first._next_benchmark, None)
    return [IterateOverBenchmarks(env, chosen) for env in envs]


def _several(benchmarks: Iterable[AnyBenchmark]) -> Iterable[AnyBenchmark]:
    """Returns the argument. Raises TypeError if it is the name of one, whose letters are none."""
    if isinstance(benchmarks, str):
        raise TypeError(f"expected several benchmarks, got {benchmarks!r}; try [{benchmarks!r}]")
    return benchmarks


def _forkable(benchmarks: Iterable[AnyBenchmark]) -> Iterator[AnyBenchmark]:
    """Returns an iterator whose ``copy.copy`` continues independently."""
    return itertools.tee(benchmarks, 1)[0]
