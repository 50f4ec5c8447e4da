"""Datasets of Hugging Face with bitcode in a column, such as ComPile."""

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset
from compiler_gym.errors import BenchmarkInitError, DatasetInitError
from compiler_gym.util.optional_packages import require

# Shared by all datasets, because they must be picklable and a lock is not.
_LOADING = Lock()
_MAX_DIGITS = 18


class HuggingFaceDataset(Dataset):
    """A dataset of Hugging Face with a program in each row, as bitcode or textual IR.

    ``benchmark://compile-v0/7`` is row 7. It needs the library ``datasets``: ``pip install
    'compiler_gym[huggingface]'``::

        dataset = HuggingFaceDataset("benchmark://compile-v0", "llvm-ml/ComPile", streaming=True)
        env.datasets.add(dataset)
        for benchmark in dataset:
            env.reset(benchmark=benchmark)

    The dataset is loaded on first use. Local and downloaded datasets have random access. A dataset
    that is too large for a download can be streamed. Then its size is unknown (0), there are no
    random draws, and access is sequential: a row costs as much as all rows since the last one, or
    all rows before it if it comes earlier.

    Args:
        name: The name in URIs.
        path: The argument of ``datasets.load_dataset()``: a name on the hub, a folder, or a format
            such as ``"parquet"``, with ``options={"data_files": "programs.parquet"}``.
        column: The column with the programs.
        split: The part of the dataset: ``"train"``, ``"train[:1000]"``.
        streaming: Read row by row, without a full download.
        options: Further arguments of ``load_dataset()`` by name.
        description: A short description of the programs.
        license: The licence of the programs. :meth:`facts` has that of each program, if known.
        site_data_base: The directory for downloads; by default that of the library.
        sort_order: Datasets are listed by this number.
    """

    def __init__(
        self,
        name: str,
        path: str,
        column: str = "content",
        split: str = "train",
        streaming: bool = False,
        *,
        options: Mapping[str, Any] | None = None,
        description: str = "",
        license: str = "unknown",
        site_data_base: str | Path | None = None,
        sort_order: int = 0,
    ):
        super().__init__(
            name=name,
            description=description or f"Programs of {path}",
            license=license,
            site_data_base=site_data_base,
            sort_order=sort_order,
            runnable="No",
            source=f"Hugging Face: {path}",
        )
        self._arguments = {"path": path, "split": split, "streaming": streaming, **(options or {})}
        self._column = column
        self._streaming = streaming
        self._loaded: Any = None
        # Unequal to all other objects, so it identifies the loaded data.
        self._load_key: object | None = None
        # For streams: the rows, the number of the next row, and the last row with its number.
        self._rows: Iterator[dict[str, Any]] = iter(())
        self._next = 0
        self._last: tuple[int, dict[str, Any]] | None = None

    @property
    def installed(self) -> bool:
        """True if the dataset has been loaded."""
        return self._loaded is not None

    def install(self) -> None:
        """Loads the dataset. Downloads it if necessary, unless it is streamed.

        Raises:
            DatasetInitError: The library is not installed, the dataset cannot be loaded, or it does
                not have the column.
        """
        super().install()
        with _LOADING:
            if self._loaded is None:
                self._loaded, self._load_key = self._load(), object()

    def uninstall(self) -> None:
        """Unloads the dataset, and deletes its downloads if they have a directory of their own."""
        with _LOADING:
            self._loaded = self._load_key = None
            self._rows, self._next, self._last = iter(()), 0, None
        super().uninstall()

    @property
    def size(self) -> int:
        """The number of rows; 0 if unknown, because the dataset is not loaded or is streamed."""
        return 0 if self._streaming or self._loaded is None else len(self._loaded)

    def benchmark_uris(self) -> Iterator[str]:  # type: ignore[override]  # The base adds part.
        """Iterates over the URIs of all rows.

        Raises:
            DatasetInitError: See :meth:`install`.
        """
        self.install()
        if self._streaming:
            yield from (f"{self.name}/{row}" for row, _ in enumerate(self._loaded))
        else:
            yield from (f"{self.name}/{row}" for row in range(self.size))

    def benchmarks(self) -> Iterator[Benchmark]:
        """Iterates over the programs of all rows, each of which is read once.

        Raises:
            Exception: Any error of :meth:`benchmark_from_parsed_uri`.
        """
        self.install()
        for number, row in enumerate(self._loaded):
            self._last = (number, row)
            yield self._benchmark_of(BenchmarkUri.from_string(f"{self.name}/{number}"), row)

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the program of a row.

        Raises:
            LookupError: There is no such row.
            DatasetInitError: See :meth:`install`.
            BenchmarkInitError: There is no program in the row.
        """
        return self._benchmark_of(uri, self._row_of(uri))

    def facts(self, uri: str | Benchmark) -> dict[str, Any]:
        """Returns the other columns of a row, such as language and licence.

        Raises:
            LookupError: There is no such row.
            DatasetInitError: See :meth:`install`.
        """
        row = self._row_of(BenchmarkUri.from_string(str(uri)))
        return {column: value for column, value in row.items() if column != self._column}

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns true if the row is known to exist. Loads nothing."""
        number = _number_of(uri)
        return number is not None and number < (self._next if self._streaming else self.size)

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Loaded data does not change."""
        return self._load_key

    def _row_of(self, uri: BenchmarkUri) -> dict[str, Any]:
        self._check_own(uri)
        self.install()
        number = _number_of(uri)
        row = None
        if number is not None:
            if self._streaming:
                row = self._streamed_row(number)
            elif number < self.size:
                row = self._loaded[number]
        if row is None:
            rows = f"its rows are 0 to {self.size - 1}" if self.size else "it has no such row"
            raise LookupError(f"There is no benchmark {uri} of {self.source}: {rows}")
        return row

    def _streamed_row(self, number: int) -> dict[str, Any] | None:
        """Returns a row of a stream; None after its end."""
        last = self._last
        if last is not None and last[0] == number:
            return last[1]
        with _LOADING:
            if number < self._next or self._next == 0:
                self._rows, self._next = iter(self._loaded), 0
            row = next(islice(self._rows, number - self._next, None), None)
            self._next = 0 if row is None else number + 1
            self._last = None if row is None else (number, row)
            return row

    def _benchmark_of(self, uri: BenchmarkUri, row: Mapping[str, Any]) -> Benchmark:
        program = row[self._column]
        if not program or not isinstance(program, bytes | str):
            raise BenchmarkInitError(f"There is no program in column '{self._column}' of {uri}")
        contents = program if isinstance(program, bytes) else program.encode()
        return self.benchmark_class.from_file_contents(uri, contents)

    def _load(self) -> Any:
        load_dataset = require("datasets", DatasetInitError).load_dataset
        arguments = dict(self._arguments)
        if self.has_site_data:
            arguments.setdefault("cache_dir", str(self.site_data_path))
        try:
            loaded = load_dataset(**arguments)
            columns = loaded.column_names
            # The columns of a stream may be unknown before its first row.
            columns = columns if columns is not None else [*next(iter(loaded), {})]
        except Exception as error:  # The library says in many ways what went wrong.
            raise DatasetInitError(
                f"Cannot load dataset {self.name} from {arguments['path']!r}: "
                f"{error or type(error).__name__}"
            ) from error
        if self._column not in columns:
            raise DatasetInitError(
                f"Dataset {self.name} has no column '{self._column}' with programs. Its columns "
                f"are: {', '.join(columns)}"
            )
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        # What is loaded is loaded again where it is needed.
        nothing = dict.fromkeys(("_loaded", "_load_key", "_last"))
        return {**self.__dict__, **nothing, "_rows": iter(()), "_next": 0}


def _number_of(uri: BenchmarkUri) -> int | None:
    """Returns the number of the row that a URI names; None if it names none."""
    text = uri.path.removeprefix("/")
    is_number = text.isascii() and text.isdecimal() and len(text) < _MAX_DIGITS
    return int(text) if is_number and not uri.params else None
