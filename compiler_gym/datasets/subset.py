"""A choice of the programs of a dataset, by part and size, and their order."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import chain

import numpy as np

from compiler_gym.datasets.benchmark import Benchmark
from compiler_gym.datasets.dataset import Dataset
from compiler_gym.datasets.datasets import round_robin_iterables
from compiler_gym.datasets.parts import check_part
from compiler_gym.datasets.uri import BenchmarkUri

BALANCES = ("package",)
"""The values of ``balance``."""

# Generators of programs have 2**32.
_MAX_LISTED = 1_000_000
_MAX_DRAWS = 1000


class Subset(Dataset):
    """Programs of a dataset, chosen by part and size. Their URIs are those of the dataset.

    It installs nothing by itself. Programs are downloaded and compiled when it is their turn, or in
    advance by :meth:`Dataset.prefetch`. A program is made to tell its size, unless the dataset
    knows it: see :meth:`Dataset.known_sizes`.

    Args:
        dataset: The dataset.
        part: ``"train"``, ``"validation"`` or ``"test"``; None for all.
        min_size: The minimum size of a program in bytes, see :func:`size_of`.
        max_size: The maximum size.
        balance: ``"package"`` draws a package first, then a program of it, so that all packages
            count the same. In order, packages take turns. None draws from all programs alike.

    Raises:
        ValueError: There is no such part or balance, the sizes exclude all programs, or the dataset
            has too many programs to list its packages.
    """

    def __init__(
        self,
        dataset: Dataset,
        part: str | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        balance: str | None = None,
    ):
        super().__init__(
            dataset.name, dataset.description, dataset.license, sort_order=dataset.sort_order
        )
        check_part(part, dataset.name)
        if balance not in (None, *BALANCES):
            raise ValueError(f"expected balance to be one of {BALANCES}, got {balance!r}")
        if balance and not dataset.size:
            dataset.install()  # The number may be known after that.
        if balance and not 0 < dataset.size <= _MAX_LISTED:
            raise ValueError(
                f"expected a dataset with at most {_MAX_LISTED:,} programs for balance="
                f"{balance!r}, got {dataset.name}; try balance=None"
            )
        if min_size is not None and max_size is not None and min_size > max_size:
            raise ValueError(f"expected min_size <= max_size, got {min_size} and {max_size}")
        self._dataset = dataset
        self._part = part
        self._sizes = (min_size, max_size)
        self._balance = balance
        self._known_sizes: Mapping[str, int] = {}
        if self._sizes != (None, None):
            self._known_sizes = dataset.known_sizes()
        self._listed: dict[str | None, list[list[str]]] = {}

    @property
    def installed(self) -> bool:
        """True if the dataset is installed."""
        return self._dataset.installed

    @property
    def size(self) -> int:
        """The number of programs of :meth:`benchmark_uris`; 0 if it is infinite or not known."""
        is_all = self._part is None and not self._known_sizes
        if is_all or not 0 < self._dataset.size <= _MAX_LISTED:
            return self._dataset.size
        return sum(1 for _ in self.benchmark_uris())

    def prefetch(
        self, part: str | None = None, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Downloads all that the programs of the part need.

        Args:
            part: A part; None for that of this choice.
            on_progress: Same as in :meth:`Dataset.prefetch`.

        Raises:
            ValueError: There is no such part.
            DatasetInitError: The files are not available.
        """
        self._dataset.prefetch(part or self._part, on_progress)

    def part_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the part of a benchmark."""
        return self._dataset.part_of(uri)

    def package_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the package of a benchmark."""
        return self._dataset.package_of(uri)

    def benchmark_uris(self, part: str | None = None) -> Iterator[str]:
        """Iterates over the URIs of the part, except for programs that are known not to fit.

        Args:
            part: A part; None for that of this choice.

        Raises:
            ValueError: There is no such part.
        """
        check_part(part, self.name)
        if part is not None and self._part not in (None, part):
            return iter(())
        part = part or self._part
        if self._balance is None:
            return filter(self._may_fit, self._dataset.benchmark_uris(part))
        return round_robin_iterables(self._groups(part))

    def benchmarks(self) -> Iterator[Benchmark]:
        """Iterates over the benchmarks of the right size.

        Raises:
            ValueError: There are none.
        """
        fitting = filter(self._fits, map(self.benchmark, self.benchmark_uris()))
        first = next(fitting, None)
        if first is None:
            raise ValueError(f"expected at least one program, got none: {self._described()}")
        return chain([first], fitting)

    def known_sizes(self) -> Mapping[str, int]:
        """Returns the sizes that the dataset knows."""
        return self._dataset.known_sizes()

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI, of any part and size."""
        return self._dataset.kept_benchmark(uri)

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns None: the dataset itself keeps its benchmarks."""
        del uri
        return None

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns whether the dataset has a benchmark."""
        return self._dataset.has_parsed_uri(uri)

    def random_benchmark(
        self, random_state: np.random.Generator | None = None, part: str | None = None
    ) -> Benchmark:
        """Returns a random benchmark of the right size.

        Args:
            random_state: The source of randomness. None for a new one.
            part: A part; None for that of this choice.

        Raises:
            ValueError: There is none, or 1,000 draws have another size.
        """
        generator = random_state if random_state is not None else np.random.default_rng()
        for _ in range(_MAX_DRAWS):
            benchmark = self._drawn(generator, part or self._part)
            if self._fits(benchmark):
                return benchmark
        raise ValueError(
            f"expected a program among {_MAX_DRAWS} draws, got none: {self._described()}"
        )

    def _drawn(self, generator: np.random.Generator, part: str | None) -> Benchmark:
        if self._balance is None and not self._known_sizes:
            return self._dataset.random_benchmark(generator, part)
        groups = self._groups(part)
        if not groups:
            raise ValueError(f"expected at least one program, got none: {self._described()}")
        uris = groups[int(generator.integers(len(groups)))]
        return self.benchmark(uris[int(generator.integers(len(uris)))])

    def _groups(self, part: str | None) -> list[list[str]]:
        """Returns the URIs of each package; with no balance, those of all packages together."""
        if part not in self._listed:
            groups: dict[str, list[str]] = {}
            for uri in filter(self._may_fit, self._dataset.benchmark_uris(part)):
                groups.setdefault(self.package_of(uri) if self._balance else "", []).append(uri)
            self._listed[part] = list(groups.values())
        return self._listed[part]

    def _may_fit(self, uri: str) -> bool:
        size = self._known_sizes.get(uri)
        return size is None or self._is_in_range(size)

    def _fits(self, benchmark: Benchmark) -> bool:
        if self._sizes == (None, None):
            return True
        size = self._known_sizes.get(str(benchmark.uri))
        return self._is_in_range(size_of(benchmark) if size is None else size)

    def _is_in_range(self, size: int) -> bool:
        low, high = self._sizes
        return (low is None or low <= size) and (high is None or size <= high)

    def _described(self) -> str:
        low, high = self._sizes
        sizes = f"{low or 0} to {'any number of' if high is None else high} bytes"
        return f"{self.name}, part {self._part or 'any'}, {sizes}"


def size_of(benchmark: Benchmark) -> int:
    """Returns the bytes of a program as the compiler gets it: for LLVM, unoptimised bitcode."""
    return len(benchmark.proto.program.contents)
