"""The base class of datasets."""

import os
import re
import shutil
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import total_ordering
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from compiler_gym.datasets.benchmark import KEPT, AnyBenchmark, Benchmark
from compiler_gym.datasets.parts import check_part, part_of_uri, with_part
from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.errors import DatasetInitError
from compiler_gym.util.filesystem import file_lock

_VERSION = re.compile(r"-v([0-9]+)$")


@total_ordering
class Dataset:
    """A collection of benchmarks.

    A subclass implements :meth:`benchmark_uris` and :meth:`benchmark_from_parsed_uri`, and
    :attr:`size` if the collection is finite and the size is known. One whose benchmarks need
    files implements :attr:`installed` and :meth:`install` too, and one whose benchmarks take time
    to make :meth:`has_parsed_uri` and :meth:`fingerprint`. Iterating over a dataset gives its
    benchmarks, always in the same order. ``uri in dataset`` tells whether it has a benchmark, as
    far as that is known without a download. Datasets can be pickled.

    Args:
        name: The scheme and name, e.g. ``"benchmark://npb-v0"``. Without a scheme,
            ``benchmark://`` is put in front. The version is taken from an ending ``-v<number>``.
        description: A short description of the programs.
        license: The licence of the programs.
        site_data_base: The parent directory of the dataset's own directory. None if it keeps no
            files.
        benchmark_class: The class of its benchmarks.
        references: Addresses to read more, by title.
        deprecated: The reason not to use the dataset any more, and an alternative. None if it is
            not deprecated. Deprecated datasets are not listed, and warn when they are used.
        sort_order: Datasets are listed by this number, then by name.
        validatable: The support for validation of results: "Yes", "No" or "Partially".
        runnable: The support for running the programs: "Yes", "No", "Partially" or "unknown".
        source: The origin of the programs: an address, a folder, or a description.

    Raises:
        ValueError: The name is malformed.
    """

    # For subclasses that do not call __init__.
    sort_order: int = 0

    SEALED: ClassVar[bool] = False
    """Whether the programs are for the last measurement of a finished method. Only who names the
    dataset gets programs of it."""

    def __init__(
        self,
        name: str,
        description: str,
        license: str,
        site_data_base: str | Path | None = None,
        benchmark_class: type[Benchmark] = Benchmark,
        references: Mapping[str, str] | None = None,
        deprecated: str | None = None,
        sort_order: int = 0,
        validatable: str = "No",
        runnable: str = "unknown",
        source: str = "unknown",
    ):
        uri = BenchmarkUri.from_string(name)
        if str(uri) != uri.dataset_uri or not uri.dataset:
            raise ValueError(f"Not the name of a dataset: {name!r}; write scheme://name-v0")
        self._uri = uri
        self._description = description
        self._license = license
        self._site_data_path = (
            Path(site_data_base).expanduser().absolute() / uri.scheme / uri.dataset
            if site_data_base is not None
            else None
        )
        self.benchmark_class = benchmark_class
        self._references = dict(references or {})
        self._deprecated = deprecated
        self.sort_order = sort_order
        self._validatable = validatable
        self._runnable = runnable
        self._source = source

    @property
    def name(self) -> str:
        """The full name, e.g. ``"benchmark://npb-v0"``."""
        return self._uri.dataset_uri

    @property
    def description(self) -> str:
        """A short description of the programs."""
        return self._description

    @property
    def license(self) -> str:
        """The licence of the programs."""
        return self._license

    @property
    def scheme(self) -> str:
        """The scheme, e.g. ``"benchmark"``."""
        return self._uri.scheme

    @property
    def protocol(self) -> str:
        """The scheme, by its former name."""
        warnings.warn("Use Dataset.scheme", DeprecationWarning, stacklevel=2)
        return self.scheme

    @property
    def version(self) -> int:
        """The number after the ``-v`` that ends the name; 0 if there is none."""
        match = _VERSION.search(self._uri.dataset)
        return int(match.group(1)) if match else 0

    @property
    def references(self) -> dict[str, str]:
        """Addresses to read more, by title."""
        return dict(self._references)

    @property
    def deprecated(self) -> bool:
        """True if the dataset should no longer be used."""
        return self._deprecated is not None

    @property
    def validatable(self) -> str:
        """The support for validation of results: "Yes", "No" or "Partially"."""
        return self._validatable

    @property
    def runnable(self) -> str:
        """The support for running the programs: "Yes", "No", "Partially", or "unknown"."""
        return self._runnable

    @property
    def source(self) -> str:
        """The origin of the programs: an address, a folder, a description, or "unknown"."""
        return self._source

    @property
    def has_site_data(self) -> bool:
        """True if the dataset may keep files."""
        return self._site_data_path is not None

    @property
    def site_data_path(self) -> Path:
        """The directory of the dataset's files; may not exist yet.

        Raises:
            ValueError: The dataset keeps no files.
        """
        if self._site_data_path is None:
            raise ValueError(f"Dataset {self.name} has no site data")
        return self._site_data_path

    @property
    def site_data_size_in_bytes(self) -> int:
        """The total size of the dataset's files; 0 if it has none."""
        path = self._site_data_path
        return _bytes_of_files(path) if path is not None and path.is_dir() else 0

    @property
    def size(self) -> int:
        """The number of benchmarks; 0 if it is infinite or not known (yet)."""
        return 0

    @property
    def installed(self) -> bool:
        """True if the benchmarks can be used without a download."""
        return True

    def install(self) -> None:
        """Downloads or prepares the files of the benchmarks, unless installed already.

        Raises:
            DatasetInitError: The files are not available.
        """
        self._warn_if_deprecated()

    def prefetch(
        self, part: str | None = None, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Downloads all that the programs of a part need. Draws of them then download nothing.

        This implementation installs the whole dataset. Sources are compiled on first use.

        Args:
            part: ``"train"``, ``"validation"`` or ``"test"``; None for all.
            on_progress: Called after each download, with the number of those that are done and the
                number of all.

        Raises:
            ValueError: There is no such part.
            DatasetInitError: The files are not available.
        """
        check_part(part, self.name)
        self.install()
        if on_progress is not None:
            on_progress(1, 1)

    def uninstall(self) -> None:
        """Deletes the dataset's files. Does nothing if there are none."""
        path = self._site_data_path
        if path is not None and path.exists():
            with self._site_data_lock():
                if path.exists():
                    shutil.rmtree(path)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Adds the argument ``part`` to overrides of :meth:`benchmark_uris` that lack it."""
        super().__init_subclass__(**kwargs)
        if "benchmark_uris" in vars(cls):
            setattr(cls, "benchmark_uris", with_part(cls.benchmark_uris))  # noqa: B010, see mypy.

    def benchmark_uris(self, part: str | None = None) -> Iterator[str]:
        """Iterates over the URIs of the benchmarks, always in the same order.

        An override may do without the argument; then it is added, by means of :meth:`part_of`.

        Args:
            part: ``"train"``, ``"validation"`` or ``"test"``, see :meth:`part_of`; None for all.

        Raises:
            ValueError: There is no such part.
        """
        raise NotImplementedError(f"{type(self).__name__} does not list its benchmarks")

    def part_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the part of a benchmark, which never changes.

        A policy learns on ``"train"``, its settings are chosen on ``"validation"``, and results are
        reported on ``"test"``. By default the part depends on the digest of the URI, without its
        parameters: 70%, 15% and 15%.

        Raises:
            ValueError: The URI is malformed.
        """
        parsed = BenchmarkUri.from_string(str(uri))
        return part_of_uri(f"{parsed.dataset_uri}{parsed.path}")

    def package_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the package of a benchmark: by default the first folder in the path of its URI.

        Raises:
            ValueError: The URI is malformed.
        """
        return BenchmarkUri.from_string(str(uri)).path.strip("/").partition("/")[0]

    def known_sizes(self) -> Mapping[str, int]:
        """Returns the sizes in bytes of benchmarks that need not be made to tell, by URI.

        :class:`Subset` then chooses by size without making them. This implementation knows none.
        """
        return {}

    def benchmarks(self) -> Iterator[Benchmark]:
        """Iterates over the benchmarks, always in the same order."""
        return (self.benchmark(uri) for uri in self.benchmark_uris())

    def benchmark(self, uri: str) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: There is no such benchmark in this dataset.
            ValueError: The URI is malformed.
        """
        return self.kept_benchmark(BenchmarkUri.from_string(uri))

    def kept_benchmark(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI, from the in-memory cache if possible."""
        fingerprint = None
        # Each use of a deprecated dataset warns.
        if self._deprecated is None and uri.dataset_uri == self.name and _is_trusted(type(self)):
            fingerprint = self.fingerprint(uri)
        key = fingerprint and (type(self), self.benchmark_class, str(uri), fingerprint)
        return KEPT.get(key, lambda: self.benchmark_from_parsed_uri(uri))

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Equal keys mean equal benchmarks.

        Recently used benchmarks are cached by this key, for all environments of the process. This
        implementation returns None, which disables the cache; subclasses that override how
        benchmarks are made have to override this method, too. It should be quick, see
        :func:`fingerprint_of_file`.

        Args:
            uri: A URI of this dataset.
        """
        del uri
        return None

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: There is no such benchmark in this dataset.
        """
        raise NotImplementedError(f"{type(self).__name__} does not make benchmarks")

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns whether there is a benchmark, without installing the dataset.

        False if that cannot be told yet. This implementation makes the benchmark to find out,
        unless the dataset is not installed.

        Args:
            uri: A URI of this dataset.
        """
        if not self.installed:
            return False
        try:
            self.benchmark_from_parsed_uri(uri)
        except (LookupError, ValueError):
            return False
        return True

    def random_benchmark(
        self, random_state: np.random.Generator | None = None, part: str | None = None
    ) -> Benchmark:
        """Returns a random benchmark, drawn uniformly.

        Args:
            random_state: The source of randomness. None for a new one.
            part: ``"train"``, ``"validation"`` or ``"test"``; None for all benchmarks.

        Raises:
            ValueError: The dataset or part has no benchmarks, or does not know how many.
        """
        self._warn_if_deprecated()
        if part is not None:
            return self._random_of_part(random_state, part)
        if not self.size:
            raise ValueError(f"Dataset {self.name} has no known number of benchmarks to draw from")
        generator = random_state if random_state is not None else np.random.default_rng()
        index = int(generator.integers(self.size))
        return self.benchmark(next(islice(self.benchmark_uris(), index, None)))

    def _random_of_part(self, random_state: np.random.Generator | None, part: str) -> Benchmark:
        uris = list(self.benchmark_uris(part))
        if not uris:
            raise ValueError(f"Dataset {self.name} has no benchmarks in the part {part!r}")
        generator = random_state if random_state is not None else np.random.default_rng()
        return self.benchmark(uris[int(generator.integers(len(uris)))])

    @contextmanager
    def _site_data_lock(self) -> Iterator[None]:
        """Returns a context in which no other process or thread changes the dataset's files.

        Raises:
            DatasetInitError: The files cannot be changed.
        """
        path = self.site_data_path
        with ExitStack() as stack:
            try:
                stack.enter_context(file_lock(path.with_name(f".{path.name}.lock")))
            except OSError as error:
                raise DatasetInitError(
                    f"Cannot change the files of dataset {self.name}: {error}. Set the environment "
                    "variable COMPILER_GYM_SITE_DATA to a directory that you can write to"
                ) from error
            yield

    def _warn_if_deprecated(self) -> None:
        """Warns that the dataset should no longer be used, if so."""
        if self._deprecated is not None:
            message = f"Dataset {self.name} is deprecated: {self._deprecated}"
            warnings.warn(message, DeprecationWarning, stacklevel=3)

    def _check_own(self, uri: BenchmarkUri) -> None:
        """Raises LookupError unless a URI is of this dataset."""
        if uri.dataset_uri != self.name:
            raise LookupError(f"Benchmark {uri} is not of dataset {self.name}")

    def __getitem__(self, uri: str) -> Benchmark:
        """Returns the benchmark of a URI, see :meth:`benchmark`."""
        return self.benchmark(uri)

    def __contains__(self, uri: object) -> bool:
        """Returns whether there is a benchmark, see :meth:`has_parsed_uri`."""
        try:
            parsed = BenchmarkUri.from_string(str(uri))
        except ValueError:
            return False
        return parsed.dataset_uri == self.name and self.has_parsed_uri(parsed)

    def __iter__(self) -> Iterator[Benchmark]:
        return self.benchmarks()

    def __len__(self) -> int:
        """Returns the number of benchmarks."""
        return self.size

    def __bool__(self) -> bool:
        # A dataset of unknown size is not an empty one.
        return True

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dataset):
            return self.name == other.name
        return self.name == other if isinstance(other, str) else NotImplemented

    def __lt__(self, other: object) -> bool:
        if isinstance(other, Dataset):
            return (self.sort_order, self.name) < (other.sort_order, other.name)
        return self.name < other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


def _bytes_of_files(directory: str | Path) -> int:
    """Returns the total size of the files below a directory, of which there may be a million."""
    with os.scandir(directory) as entries:
        return sum(
            _bytes_of_files(entry.path)
            if entry.is_dir(follow_symlinks=False)
            else entry.stat(follow_symlinks=False).st_size
            for entry in entries
        )


def _is_trusted(dataset_class: type[Dataset]) -> bool:
    """Returns false if a class overrides how benchmarks are made, but not fingerprint()."""
    makes, says = (
        next(each for each in dataset_class.__mro__ if name in vars(each))
        for name in ("benchmark_from_parsed_uri", "fingerprint")
    )
    return issubclass(says, makes)


#: A dataset, the name of one, or any benchmarks.
BenchmarkChoice = str | Dataset | Iterable[AnyBenchmark]
