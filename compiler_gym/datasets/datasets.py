"""The datasets of an environment."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from google.protobuf.message import DecodeError

from compiler_gym.datasets.benchmark import KEPT, Benchmark, fingerprint_of_file
from compiler_gym.datasets.dataset import Dataset
from compiler_gym.datasets.uri import FILE_SCHEMES, BenchmarkUri, names_dataset
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.service.proto import Benchmark as BenchmarkProto

_T = TypeVar("_T")


def round_robin_iterables(iterables: Iterable[Iterable[_T]]) -> Iterator[_T]:
    """Yields elements of several iterables in turns of one from each, until all have ended.

    >>> list(round_robin_iterables([[1, 2, 3], [10]]))
    [1, 10, 2, 3]
    """
    turns = [iter(iterable) for iterable in iterables]
    while turns:
        remaining = []
        for turn in turns:
            try:
                element = next(turn)
            except StopIteration:
                continue
            yield element
            remaining.append(turn)
        turns = remaining


class Datasets:
    """A collection of datasets, by name.

    Works as a dictionary from the full name of a dataset (``"benchmark://npb-v0"``; without a
    scheme, any dataset of that name is meant) to the dataset. The URI of a benchmark stands for its
    dataset: ``uri in datasets`` says whether there is that dataset, without installing it.
    Iterating gives the datasets that are not deprecated, by their sort order and then by name.

    Besides the benchmarks of its datasets it knows two kinds of files:
    ``file:///absolute/path`` is a program in a form that the compiler understands, and
    ``proto:///absolute/path`` is a serialised Benchmark message.

    Args:
        datasets: The datasets.
    """

    def __init__(self, datasets: Iterable[Dataset] = ()):
        self._datasets: dict[str, Dataset] = {}
        for dataset in datasets:
            self.add(dataset)

    def add(self, dataset: Dataset) -> None:
        """Adds a dataset, replacing any of the same name."""
        self._datasets[dataset.name] = dataset

    def remove(self, name: str | Dataset) -> None:
        """Removes a dataset from the collection. Its files are left alone.

        Raises:
            LookupError: There is no such dataset.
        """
        del self._datasets[self.dataset(name).name]

    def datasets(
        self, with_deprecated: bool = False, installed_only: bool = False
    ) -> Iterator[Dataset]:
        """Iterates over the datasets.

        Args:
            with_deprecated: Include deprecated datasets.
            installed_only: Leave out datasets that would have to be downloaded.
        """
        for dataset in sorted(self._datasets.values()):
            if (with_deprecated or not dataset.deprecated) and (
                dataset.installed or not installed_only
            ):
                yield dataset

    def dataset(self, name: str | Dataset | BenchmarkUri) -> Dataset:
        """Returns a dataset.

        Args:
            name: Its name, with or without scheme; or the URI of a benchmark of it.

        Raises:
            LookupError: There is no such dataset; the text suggests similar names.
            ValueError: The name is malformed.
        """
        uri = name if isinstance(name, BenchmarkUri) else BenchmarkUri.from_string(str(name))
        if "://" not in str(name):
            uri = self._with_scheme(uri)
        if uri.dataset_uri in self._datasets:
            return self._datasets[uri.dataset_uri]
        raise unknown_name("dataset", uri.dataset_uri, map(str, self.datasets()))

    def named(self, name: str) -> Dataset:
        """Returns a dataset by its own name.

        Args:
            name: Its name, with or without scheme.

        Raises:
            LookupError: There is no such dataset; the text suggests similar names.
            ValueError: The name is malformed, or that of a benchmark.
        """
        dataset = self.dataset(name)
        if not names_dataset(name):
            raise ValueError(
                f"expected a dataset such as {dataset}, got the benchmark {name}; for a single one "
                "write benchmark=..., or benchmarks=[...]"
            )
        return dataset

    def require(self, name: str | Dataset) -> Dataset:
        """Returns a dataset after installing it, unless it is installed already.

        Args:
            name: Its name, e.g. ``"npb-v0"`` or ``"benchmark://npb-v0"``.

        Raises:
            LookupError: There is no such dataset; the text suggests similar names.
            ValueError: The name is malformed, or that of a benchmark.
            DatasetInitError: It cannot be installed. Without network, the text says what could
                not be fetched, and what to do.
        """
        dataset = self.dataset(name) if isinstance(name, Dataset) else self.named(name)
        dataset.install()
        return dataset

    def benchmark_uris(
        self, with_deprecated: bool = False, installed_only: bool = False
    ) -> Iterator[str]:
        """Iterates over the URIs of all benchmarks, in turns of one from each dataset.

        The order is always the same. There may be no end to it, since some datasets generate
        programs. A dataset is downloaded only when it is its turn. Sealed datasets are left out.

        Args:
            with_deprecated: Whether to include deprecated datasets.
            installed_only: Whether to leave out datasets that would have to be downloaded.

        Raises:
            DatasetInitError: A dataset cannot be installed.
        """
        return round_robin_iterables(
            dataset.benchmark_uris()
            for dataset in self.datasets(with_deprecated, installed_only)
            if not dataset.SEALED
        )

    def benchmarks(
        self, with_deprecated: bool = False, installed_only: bool = False
    ) -> Iterator[Benchmark]:
        """Iterates over all benchmarks; see :meth:`benchmark_uris`."""
        for uri in self.benchmark_uris(with_deprecated, installed_only):
            yield self.benchmark(uri)

    def benchmark(self, uri: str | BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: There is no such dataset, or no such benchmark in it; the text suggests
                similar names.
            ValueError: The URI is malformed.
            FileNotFoundError: The URI names a file that does not exist.
            BenchmarkInitError: The file, or the source of the benchmark, is not valid.
            DatasetInitError: The dataset cannot be installed.
        """
        if isinstance(uri, BenchmarkUri):
            return self.benchmark_from_parsed_uri(uri)
        parsed = BenchmarkUri.from_string(uri)
        return self.benchmark_from_parsed_uri(parsed if "://" in uri else self._with_scheme(parsed))

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a parsed URI, see :meth:`benchmark`."""
        if uri.scheme in FILE_SCHEMES:
            return _benchmark_of_file(uri)
        return self.dataset(uri).kept_benchmark(uri)

    def _with_scheme(self, uri: BenchmarkUri) -> BenchmarkUri:
        """Completes a URI that has no scheme with the scheme of the dataset it names."""
        if uri.dataset_uri not in self._datasets:
            for dataset in self.datasets(with_deprecated=True):
                if dataset.name == f"{dataset.scheme}://{uri.dataset}":
                    return replace(uri, scheme=dataset.scheme)
        return uri

    def random_benchmark(
        self,
        random_state: np.random.Generator | None = None,
        weighted: bool = False,
        weights: Mapping[str, float] | None = None,
        installed_only: bool = False,
    ) -> Benchmark:
        """Returns a random benchmark.

        Datasets that are deprecated, or are installed and have no benchmarks, are not drawn from.
        Sealed ones are drawn from if ``weights`` names them.

        Args:
            random_state: The source of randomness. None for a new one.
            weighted: Draw each dataset with a probability proportional to its size,
                so that all benchmarks are equally likely. Datasets of infinite or unknown size
                are then not drawn from. By default, each dataset is equally likely.
            weights: The relative probability of each dataset by name. Datasets not named are
                not drawn from.
            installed_only: Whether to leave out datasets that would have to be downloaded.

        Raises:
            ValueError: There is no dataset to draw from, or a weight is negative.
            LookupError: ``weights`` names a dataset that does not exist.
            DatasetInitError: The dataset that was drawn cannot be installed.
        """
        generator = random_state if random_state is not None else np.random.default_rng()
        by_name = {self.dataset(name).name: weight for name, weight in (weights or {}).items()}
        candidates = [
            dataset
            for dataset in self.datasets(installed_only=installed_only)
            if not _is_empty(dataset) and (not dataset.SEALED or dataset.name in by_name)
        ]
        if weights is not None:
            values = [by_name.get(dataset.name, 0.0) for dataset in candidates]
        elif weighted:
            values = [float(dataset.size) for dataset in candidates]
        else:
            values = [1.0] * len(candidates)
        total = sum(values)
        if not total > 0 or min(values) < 0:
            raise ValueError("There is no dataset to draw a random benchmark from")
        index = generator.choice(len(candidates), p=np.array(values) / total)
        return candidates[int(index)].random_benchmark(generator)

    @property
    def size(self) -> int:
        """The number of datasets that are not deprecated."""
        return sum(1 for _ in self.datasets())

    def __len__(self) -> int:
        """Returns the number of datasets that are not deprecated."""
        return self.size

    def __iter__(self) -> Iterator[Dataset]:
        return self.datasets()

    def __getitem__(self, name: str) -> Dataset:
        """Returns a dataset by name, see :meth:`dataset`."""
        return self.dataset(name)

    def __setitem__(self, name: str, dataset: Dataset) -> None:
        if BenchmarkUri.canonicalize(name) != dataset.name:
            raise ValueError(f"Dataset {dataset.name} cannot have the name {name!r}")
        self.add(dataset)

    def __delitem__(self, name: str) -> None:
        self.remove(name)

    def __contains__(self, name: object) -> bool:
        try:
            self.dataset(str(name))
        except (LookupError, ValueError):
            return False
        return True

    def __repr__(self) -> str:
        return f"Datasets({list(self.datasets(with_deprecated=True))})"


def _is_empty(dataset: Dataset) -> bool:
    """Returns whether a dataset is installed and has no benchmarks."""
    # A size of zero may mean that the dataset is infinite.
    return dataset.installed and next(dataset.benchmark_uris(), None) is None


def benchmark_of_file(uri: BenchmarkUri, path: Path) -> Benchmark:
    """Makes a benchmark of a file, from the in-memory cache if possible."""
    fingerprint = fingerprint_of_file(path)
    key = fingerprint and (str(uri), fingerprint)
    return KEPT.get(key, lambda: Benchmark.from_file(uri, path))


def _benchmark_of_file(uri: BenchmarkUri) -> Benchmark:
    """Returns the benchmark of a URI that names a file."""
    path = uri.file()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}, which benchmark {uri} names")
    if uri.scheme == "file":
        return benchmark_of_file(uri, path)
    proto = BenchmarkProto()
    try:
        proto.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise BenchmarkInitError(f"Not a serialised Benchmark message: {path} ({error})") from error
    # Keep the URI of the request, so that the benchmark can be requested again.
    proto.uri = str(uri)
    return Benchmark(proto)
