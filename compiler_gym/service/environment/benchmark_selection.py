"""The choice of the program of each episode."""

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np

from compiler_gym.datasets import AnyBenchmark, Benchmark, BenchmarkUri, Dataset, Datasets
from compiler_gym.datasets.benchmark import uri_of
from compiler_gym.datasets.uri import FILE_SCHEMES, uri_of_file
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util.random_state import copy_generator, shallow_copy

# Some datasets are infinite.
_MAX_LISTED_PER_DATASET = 1000


class BenchmarkSelection:
    """Chooses the benchmark of the next episode.

    The first of these that applies decides:

    1. the benchmark that was chosen by name or as an object;
    2. a random benchmark of the required datasets, a new one for each episode;
    3. the default benchmark, else the first benchmark of all datasets.

    Args:
        datasets: The datasets in which benchmarks are looked up.
    """

    def __init__(self, datasets: Datasets | Iterable[Dataset]):
        self._datasets = _as_datasets(datasets)
        # Created when needed, because creating and copying it is slow.
        self._rng: np.random.Generator | None = None
        self._chosen: Benchmark | None = None
        self._required: list[Dataset] = []
        self._default: Benchmark | None = None
        self._first: Benchmark | None = None

    @property
    def datasets(self) -> Datasets:
        """The datasets in which benchmarks are looked up."""
        return self._datasets

    @datasets.setter
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None:
        self._datasets = _as_datasets(datasets)
        self._first = None

    def installed_uris(self) -> list[str]:
        """Returns the URIs of the installed datasets: the first thousand of each."""
        return [
            uri
            for dataset in self._datasets.datasets(installed_only=True)
            for uri in islice(dataset.benchmark_uris(), _MAX_LISTED_PER_DATASET)
        ]

    @property
    def is_explicit(self) -> bool:
        """True if a benchmark was chosen by :meth:`choose`."""
        return self._chosen is not None

    def seed(self, seed: int | None) -> None:
        """Seeds the sequence of random benchmarks; None chooses a random seed."""
        self._rng = None if seed is None else np.random.default_rng(seed)

    def resolve(self, benchmark: AnyBenchmark) -> Benchmark:
        """Returns the benchmark of a name or an object.

        Raises:
            LookupError: If there is no benchmark with that name.
            ValueError: If the name is malformed.
            FileNotFoundError, IsADirectoryError: If a path is not that of a file.
            TypeError: If the argument is neither a name nor a benchmark.
        """
        if isinstance(benchmark, Benchmark):
            return benchmark
        if isinstance(benchmark, Path):
            if benchmark.expanduser().is_dir():
                raise IsADirectoryError(
                    f"expected the file of a program, got the folder {benchmark}; try "
                    f"benchmarks=compiler_gym.dataset({str(benchmark)!r})"
                )
            return self.datasets.benchmark(uri_of_file(benchmark))
        if isinstance(benchmark, str | BenchmarkUri):
            return self.datasets.benchmark(benchmark)
        raise TypeError(
            "A benchmark is given by its URI, by the Path of a file, or as a Benchmark or "
            f"BenchmarkUri object, not as {type(benchmark).__name__}"
        )

    def check(self, benchmark: AnyBenchmark) -> None:
        """Raises an error of :meth:`resolve` that is known without a download or a compilation."""
        if not self._may_exist(benchmark):
            with suppress(BenchmarkInitError):
                self.resolve(benchmark)

    def _may_exist(self, benchmark: AnyBenchmark) -> bool:
        if isinstance(benchmark, Benchmark):
            return True
        if not isinstance(benchmark, Path | str | BenchmarkUri):
            return False
        text = uri_of(benchmark)
        uri = BenchmarkUri.from_string(text)
        if uri.scheme in FILE_SCHEMES:
            return uri.file().is_file()
        if text not in self.datasets:
            return False
        dataset = self.datasets.dataset(text)
        # By default, a dataset makes the benchmark to find out.
        is_quick = type(dataset).has_parsed_uri is not Dataset.has_parsed_uri
        return not (dataset.installed and is_quick) or dataset.has_parsed_uri(uri)

    def choose(self, benchmark: AnyBenchmark) -> None:
        """Chooses the benchmark of all further episodes. Raises the errors of :meth:`resolve`."""
        self._chosen = self.resolve(benchmark)

    def set_default(self, benchmark: AnyBenchmark) -> None:
        """Sets the default benchmark. Raises the errors of :meth:`resolve`."""
        self._default = self.resolve(benchmark)

    def require(self, names: list[str | Dataset]) -> None:
        """Installs datasets. Each further episode has a random benchmark from them.

        Raises:
            LookupError: If a dataset does not exist.
            DatasetInitError: If a dataset cannot be installed.
        """
        self._required = [self.datasets.require(name) for name in names]

    def peek(self) -> Benchmark | None:
        """Returns the benchmark of the next episode, or None if there is none or it is random."""
        if self._chosen is not None:
            return self._chosen
        if self._required:
            return None
        if self._default is not None:
            return self._default
        if self._first is None:
            self._first = next(self.datasets.benchmarks(), None)
        return self._first

    def next(self) -> Benchmark:
        """Returns the benchmark of the episode that begins now.

        Raises:
            TypeError: If no benchmark is set, and there are no datasets.
        """
        if self._chosen is None and self._required:
            if self._rng is None:
                self._rng = np.random.default_rng()
            dataset = self._required[int(self._rng.integers(len(self._required)))]
            return dataset.random_benchmark(self._rng)
        benchmark = self.peek()
        if benchmark is None:
            raise TypeError(
                "No benchmark set. Choose one by env.reset(benchmark=...) or env.benchmark = ..., "
                "or give the environment datasets to choose from"
            )
        return benchmark

    def copy(self) -> "BenchmarkSelection":
        """Returns a selection that makes the same choices, independently."""
        clone = shallow_copy(self)
        if self._rng is not None:
            clone._rng = copy_generator(self._rng)
        return clone


def _as_datasets(datasets: Datasets | Iterable[Dataset]) -> Datasets:
    return datasets if isinstance(datasets, Datasets) else Datasets(datasets)
