"""Datasets of the files of a directory."""

import os
import tempfile
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import quote, unquote

import numpy as np

from compiler_gym.datasets.benchmark import Benchmark, BenchmarkSource, fingerprint_of_file
from compiler_gym.datasets.dataset import Dataset
from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.errors import BenchmarkInitError, DatasetInitError
from compiler_gym.errors.nearest_names import unknown_name

# Characters of a file name that a URI can hold as they are: all but "?", "#" and "%".
_UNQUOTED = "/!\"$&'()*+,:;<=>@[\\]^`{|} "


class SourceCompiler(Protocol):
    """Compiles one source file to a form that the compiler service understands."""

    def __call__(self, source: Path, output: Path) -> None:
        """Compiles a file.

        Args:
            source: The source file. It may include files beside it.
            output: The file to write.

        Raises:
            BenchmarkInitError: The source does not compile.
        """


class FilesDataset(Dataset):
    """The files of a directory and its sub-directories, one benchmark for each.

    The URI of a benchmark is the name of the dataset, and the path of the file in the directory
    without its suffix: ``benchmark://mine-v0/sort/quick`` for ``sort/quick.bc``. Files and
    directories whose names start with a dot do not count. Benchmarks are sorted by directory.

    With a ``compiler``, the files are source files, each compiled when its benchmark is used.

    Args:
        dataset_root: The directory.
        benchmark_file_suffix: The ending of the names of the files to use. Empty for all files.
        memoize_uris: Keep the list of files in memory. Later changes of the directory are then
            ignored.
        compiler: Compiles a source file. None if the files need no compilation.
        programs: The file of each benchmark, relative to the directory, by the name of the
            benchmark. Given this, no other files are used.
        **kwargs: Arguments of :class:`Dataset`; ``name``, ``description`` and ``license`` are
            required.
    """

    def __init__(
        self,
        dataset_root: str | Path,
        benchmark_file_suffix: str = "",
        memoize_uris: bool = True,
        compiler: SourceCompiler | None = None,
        programs: Mapping[str, str] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**{"source": str(dataset_root), **kwargs})
        self._dataset_root = Path(dataset_root).expanduser().absolute()
        self.benchmark_file_suffix = benchmark_file_suffix
        self.memoize_uris = memoize_uris
        self._compiler = compiler
        self._programs = dict(sorted(programs.items())) if programs else None
        self._memoized_uris: list[str] | None = None

    @property
    def dataset_root(self) -> Path:
        """The directory of the files."""
        return self._dataset_root

    @property
    def installed(self) -> bool:
        """True if the directory exists."""
        return self.dataset_root.is_dir()

    def install(self) -> None:
        """Checks that the directory exists.

        Raises:
            DatasetInitError: The directory does not exist.
        """
        super().install()
        if not self.installed:
            raise DatasetInitError(
                f"Dataset {self.name} is the files of a directory that does not exist: "
                f"{self.dataset_root}"
            )

    @property
    def size(self) -> int:
        """The number of benchmarks; 0 if not installed.

        Lists the directory, unless the list is in memory.
        """
        if self._programs is not None:
            return len(self._programs)
        if self._memoized_uris is not None:
            return len(self._memoized_uris)
        return sum(1 for _ in self.benchmark_uris()) if self.installed else 0

    def benchmark_uris(self) -> Iterator[str]:  # type: ignore[override]  # The base adds part.
        """Iterates over the URIs of the benchmarks, always in the same order.

        Raises:
            DatasetInitError: The dataset is not installed, and cannot be.
        """
        if self._programs is not None:
            yield from (f"{self.name}/{name}" for name in self._programs)
        elif self._memoized_uris is not None:
            yield from self._memoized_uris
        else:
            self.install()
            uris: list[str] = []
            for uri in self._walk():
                if self.memoize_uris:
                    uris.append(uri)
                yield uri
            if self.memoize_uris:
                self._memoized_uris = uris

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: There is no such benchmark in this dataset.
            DatasetInitError: The dataset is not installed, and cannot be.
            BenchmarkInitError: Its source does not compile.
        """
        self._check_own(uri)
        self.install()
        path = self._path_of(uri)
        if path is None or not path.is_file():
            raise self._no_such_benchmark(uri)
        if self._compiler is None:
            return self.benchmark_class.from_file(uri, path)
        benchmark = self._compiled(uri, path, self._compiler)
        benchmark.add_source(BenchmarkSource(path.name, path.read_bytes()))
        return benchmark

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key; None for source files, which may include other files."""
        path = self._path_of(uri) if self._compiler is None else None
        return path and fingerprint_of_file(path)

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns whether there is a benchmark. Does not compile it, nor install the dataset."""
        path = self._path_of(uri)
        # Names that were given are known before the files are there.
        is_known = self._programs is not None and not self.installed
        return path is not None and (is_known or path.is_file())

    def random_benchmark(
        self, random_state: np.random.Generator | None = None, part: str | None = None
    ) -> Benchmark:
        """Returns a random benchmark, drawn uniformly.

        Args:
            random_state: The source of randomness. None for a new one.
            part: ``"train"``, ``"validation"`` or ``"test"``; None for all benchmarks.

        Raises:
            ValueError: There are no benchmarks.
            DatasetInitError: The dataset is not installed, and cannot be.
        """
        if part is not None:
            return self._random_of_part(random_state, part)
        uri = self._draw(random_state if random_state is not None else np.random.default_rng())
        if not uri:
            suffix = self.benchmark_file_suffix
            raise ValueError(
                f"Dataset {self.name} is empty: no files *{suffix} in {self.dataset_root}"
            )
        return self.benchmark(uri)

    def _draw(self, generator: np.random.Generator) -> str:
        """Returns the URI of a random benchmark; empty if there are none."""
        # A list in memory is used without a check.
        uris = self._memoized_uris or list(self.benchmark_uris())
        return uris[int(generator.integers(len(uris)))] if uris else ""

    def _compiled(self, uri: BenchmarkUri, source: Path, compiler: SourceCompiler) -> Benchmark:
        """Returns the benchmark of a source file."""
        with tempfile.TemporaryDirectory(prefix="compiler_gym-compile-") as directory:
            output = Path(directory) / "program"
            self._compile(uri, source, output, compiler)
            return self.benchmark_class.from_file(uri, output)

    @staticmethod
    def _compile(uri: BenchmarkUri, source: Path, output: Path, compiler: SourceCompiler) -> None:
        """Compiles a source file, and checks that there is a result."""
        compiler(source, output)
        if not output.is_file():
            raise BenchmarkInitError(f"Compiling benchmark {uri} wrote no output: {source}")

    def _walk(self) -> Iterator[str]:
        """Yields the URIs of the files, sorted directory by directory."""
        return uris_of_files(self.name, self.dataset_root, self.benchmark_file_suffix)

    def _path_of(self, uri: BenchmarkUri) -> Path | None:
        """Returns the path of a benchmark's file; None if it is outside of the root."""
        name = unquote(uri.path.removeprefix("/"), errors="surrogateescape")
        if self._programs is not None:
            file = self._programs.get(name)
            return self.dataset_root / file if file else None
        relative = PurePosixPath(name + self.benchmark_file_suffix)
        if not name or relative.is_absolute() or ".." in relative.parts:
            return None
        return self.dataset_root / relative

    def _no_such_benchmark(self, uri: BenchmarkUri) -> LookupError:
        """Returns an error for a benchmark that is not in this dataset."""
        return unknown_name("benchmark", uri, self.benchmark_uris())


def uris_of_files(dataset: str, root: Path, suffix: str) -> Iterator[str]:
    """Yields the URIs of the files of a directory, sorted directory by directory.

    Args:
        dataset: The full name of the dataset.
        root: The directory.
        suffix: The ending of the names of the files, which URIs lack.
    """
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        relative = Path(directory).relative_to(root)
        for file in sorted(files):
            if file.endswith(suffix) and not file.startswith("."):
                name = (relative / file).as_posix().removesuffix(suffix)
                yield f"{dataset}/{quote(name, _UNQUOTED, errors='surrogateescape')}"
