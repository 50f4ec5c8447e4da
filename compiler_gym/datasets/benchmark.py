"""Benchmarks, which are the programs to compile."""

import copy
import hashlib
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial, total_ordering
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar

from cachetools import LRUCache
from typing_extensions import Self

from compiler_gym.datasets.uri import BenchmarkUri, uri_of_file
from compiler_gym.errors import ValidationError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util.thread_pool import stream_in_threads

#: A function that yields the errors of the program that an environment has compiled. Its argument
#: is an environment of the kind that it supports, or None. The callback owns the environment, and
#: may change its state.
ValidationCallback = Callable[[Any], Iterable[ValidationError] | None]

_Callback = TypeVar("_Callback", bound=ValidationCallback)
_RUNS = "runs_the_program"


def looks_only(callback: _Callback) -> _Callback:
    """Marks a validation callback that does not run the program.

    It can find errors, but cannot show that the program behaves correctly.
    """
    setattr(callback, _RUNS, False)
    return callback


class ForkableEnv(Protocol):
    """The part of an environment's interface that validation uses."""

    def fork(self) -> "ForkableEnv":
        """Returns an independent environment in the same state."""

    def close(self) -> None:
        """Ends the episode."""


_DIGEST_BYTES = 16


class _Message:
    """The message of a benchmark, or of several that are copies of each other."""

    __slots__ = ("digest", "is_shared", "proto")

    def __init__(self, proto: BenchmarkProto):
        self.proto = proto
        self.is_shared = False
        # The digest of the message, computed on first use once the message is shared.
        self.digest = b""


class BenchmarkSource(NamedTuple):
    """A source file of a benchmark.

    Attributes:
        filename: The name of the file, relative to the directory of the program.
        contents: The contents of the file.
    """

    filename: str
    contents: bytes

    def __repr__(self) -> str:
        return f"{self.filename} ({len(self.contents)} bytes)"


@total_ordering
class Benchmark:
    """A program to compile.

    A benchmark compares, sorts and hashes as its URI, and equals the text of it. Its attributes
    cannot be set. Usually a benchmark comes from a dataset, ``env.datasets.benchmark(uri)``, or
    from a function that makes one of the user's own program.

    Args:
        proto: The message that the service gets. It is not copied; its URI is put in canonical
            form.
        validation_callbacks: Functions that validate the compiled program.
        sources: The source files.

    Raises:
        ValueError: The URI of the message is malformed.
    """

    __slots__ = ("_message", "_sources", "_uri", "_validation_callbacks")

    def __init__(
        self,
        proto: BenchmarkProto,
        validation_callbacks: Iterable[ValidationCallback] | None = None,
        sources: Iterable[BenchmarkSource] | None = None,
    ):
        self._uri = BenchmarkUri.from_string(proto.uri)
        self._message = _Message(proto)
        proto.uri = str(self._uri)
        self._validation_callbacks = list(validation_callbacks or ())
        self._sources = [BenchmarkSource(*source) for source in sources or ()]

    @classmethod
    def from_file(cls, uri: str | BenchmarkUri, path: str | Path) -> Self:
        """Makes a benchmark of a file in a form that the compiler understands, e.g. bitcode.

        The contents of the file become part of the benchmark.

        Args:
            uri: The name of the new benchmark.
            path: The file.

        Raises:
            FileNotFoundError: There is no such file.
            OSError: The file cannot be read.
        """
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"The program of benchmark {uri} is missing: {path}")
        return cls.from_file_contents(uri, path.read_bytes())

    @classmethod
    def from_file_contents(cls, uri: str | BenchmarkUri, data: bytes) -> Self:
        """Makes a benchmark of the contents of a file.

        Args:
            uri: The name of the new benchmark.
            data: The program, in a form that the compiler understands.
        """
        return cls(BenchmarkProto(uri=str(uri), program=File(contents=data)))

    @property
    def uri(self) -> BenchmarkUri:
        """The name of the benchmark."""
        return self._uri

    @property
    def proto(self) -> BenchmarkProto:
        """The message that the service gets."""
        if self._message.is_shared:  # The caller may change it.
            proto = BenchmarkProto()
            proto.CopyFrom(self._message.proto)
            self._message = _Message(proto)
        return self._message.proto

    def digest(self) -> bytes:
        """Returns a hash of the message, of 16 bytes."""
        message = self._message
        if message.digest:
            return message.digest
        data = message.proto.SerializeToString(deterministic=True)
        digest = hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
        if message.is_shared:
            message.digest = digest
        return digest

    def has_message_of(self, other: "Benchmark") -> bool:
        """Returns true if another benchmark has the same name and program."""
        mine, others = self._message, other._message
        return mine is others or mine.proto == others.proto

    def copy(self) -> Self:
        """Returns an independent copy of the benchmark.

        Both share the program in memory until either is asked for its message.
        """
        self._message.is_shared = True
        clone = copy.copy(self)
        clone._sources = list(self._sources)
        clone._validation_callbacks = list(self._validation_callbacks)
        return clone

    def memory_bytes(self) -> int:
        """Returns the approximate memory use in bytes."""
        sources = sum(len(source.contents) for source in self._sources)
        return self._message.proto.ByteSize() + sources

    @property
    def sources(self) -> list[BenchmarkSource]:
        """The source files; empty if they are not known."""
        return list(self._sources)

    def add_source(self, source: BenchmarkSource) -> None:
        """Adds a source file."""
        self._sources.append(BenchmarkSource(*source))

    def write_sources_to_directory(self, directory: str | Path) -> int:
        """Writes the source files to a directory.

        Args:
            directory: The directory; created if missing.

        Returns:
            The number of files written. The last of several files of the same name wins.

        Raises:
            ValueError: The name of a source file points outside of the directory.
        """
        directory = Path(directory)
        sources = {Path(name): contents for name, contents in self._sources}
        for name in sources:
            if name.is_absolute() or ".." in name.parts or name == Path():
                raise ValueError(
                    f"Expected the name of a file inside of the directory, got {str(name)!r}"
                )
        directory.mkdir(parents=True, exist_ok=True)
        for name, contents in sources.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
        return len(sources)

    def is_validatable(self) -> bool:
        """Returns true if the benchmark has validation callbacks."""
        return bool(self._validation_callbacks)

    def is_run_to_validate(self) -> bool:
        """Returns true if a validation callback runs the program."""
        return bool(self.running_callbacks())

    def validation_callbacks(self) -> list[ValidationCallback]:
        """Returns the functions that validate the compiled program."""
        return list(self._validation_callbacks)

    def running_callbacks(self) -> list[ValidationCallback]:
        """Returns the validation callbacks that run the program.

        These are all callbacks that :func:`looks_only` does not mark.
        """
        return [each for each in self._validation_callbacks if getattr(each, _RUNS, True)]

    def add_validation_callback(self, callback: ValidationCallback) -> None:
        """Adds a function that validates the compiled program.

        Args:
            callback: Called with a fork of the environment to validate. It yields errors, or
                returns a list of errors or None.
        """
        self._validation_callbacks.append(callback)

    def validate(self, env: ForkableEnv | None) -> list[ValidationError]:
        """Validates the state of an environment by all validation callbacks.

        Args:
            env: An environment with an episode of this benchmark. It is forked, once for each
                callback, and stays as it is. Callbacks that need none may be given None.

        Returns:
            The errors, in no particular order; empty if there are none, or no validation
            callbacks.
        """
        return list(self.ivalidate(env))

    def ivalidate(self, env: ForkableEnv | None) -> Iterator[ValidationError]:
        """Validates the state of an environment, and yields errors as they are found.

        The callbacks run in parallel. An exception of one of them is raised here.
        """
        callbacks = self.validation_callbacks()
        if not callbacks:
            return
        run = partial(_run, env=env, fork_lock=Lock())
        with closing(stream_in_threads(run, callbacks, in_order=False)) as found:
            for errors in found:
                yield from errors

    def __str__(self) -> str:
        return str(self.uri)

    def __repr__(self) -> str:
        return str(self.uri)

    def __hash__(self) -> int:
        return hash(self.uri)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Benchmark, BenchmarkUri, str)):
            return str(self) == str(other)
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        if isinstance(other, (Benchmark, BenchmarkUri, str)):
            return str(self) < str(other)
        return NotImplemented


AnyBenchmark = str | Path | BenchmarkUri | Benchmark
"""What names a benchmark: a URI, the file of a program, or the benchmark itself."""


def uri_of(benchmark: AnyBenchmark) -> str:
    """Returns the URI of a benchmark that is named in any way."""
    if isinstance(benchmark, Path):
        return uri_of_file(benchmark)
    return str(benchmark.uri if isinstance(benchmark, Benchmark) else benchmark)


class BenchmarkWithSource(Benchmark):
    """A benchmark that was compiled from one source file."""

    __slots__ = ()

    @classmethod
    def create(
        cls, uri: str | BenchmarkUri, input_path: str | Path, src_name: str, src_path: str | Path
    ) -> Self:
        """Makes a benchmark of a compiled file and its source file.

        The contents of both become part of the benchmark.

        Args:
            uri: The name of the new benchmark.
            input_path: The program, in a form that the compiler understands.
            src_name: The name of the source file in :attr:`sources`.
            src_path: The source file.

        Raises:
            FileNotFoundError: One of the files does not exist.
            OSError: A file cannot be read.
        """
        benchmark = cls.from_file(uri, input_path)
        benchmark.add_source(BenchmarkSource(src_name, Path(src_path).read_bytes()))
        return benchmark

    @property
    def source(self) -> str:
        """The text of the source file.

        Raises:
            ValueError: The benchmark has no source file.
        """
        if not self._sources:
            raise ValueError(f"Benchmark {self} has no source file")
        return self._sources[0].contents.decode("utf-8", errors="replace")


def _run(
    callback: ValidationCallback, env: ForkableEnv | None, fork_lock: Lock
) -> list[ValidationError]:
    """Returns the errors that a callback finds in a fork of an environment."""
    if env is None:
        return list(callback(None) or ())
    # A session serves one thread at a time.
    with fork_lock:
        fork = env.fork()
    try:
        return list(callback(fork) or ())
    finally:
        fork.close()


# An in-memory cache of benchmarks, so that their files are read once.

_MAX_BYTES = 128 << 20
# Changes within one tick of the file system's clock leave the same timestamp.
_CLOCK_TICK_NANOSECONDS = 50_000_000
# The memory use of a benchmark besides its program, in bytes.
_OVERHEAD_BYTES = 4096


def _size(benchmark: Benchmark) -> int:
    return benchmark.memory_bytes() + _OVERHEAD_BYTES


class KeptBenchmarks:
    """A cache of the most recently used benchmarks. It is thread-safe.

    Args:
        max_bytes: The maximum memory use of their programs.
    """

    def __init__(self, max_bytes: int):
        self._benchmarks: LRUCache[Hashable, Benchmark] = LRUCache(max_bytes, _size)
        self._lock = Lock()

    def get(self, key: Hashable | None, make: Callable[[], Benchmark]) -> Benchmark:
        """Returns a copy of a cached benchmark, which the caller may change.

        Args:
            key: The cache key, different for each version of a benchmark. None bypasses the
                cache.
            make: Makes the benchmark on a cache miss.

        Raises:
            Exception: Any error of ``make``.
        """
        if key is None:
            return make()
        with self._lock:
            benchmark = self._benchmarks.get(key)
        if benchmark is None:
            benchmark = make().copy()
            self._keep(key, benchmark)
        return benchmark.copy()

    def _keep(self, key: Hashable, benchmark: Benchmark) -> None:
        # A program that is larger than the cache is an error of it.
        with self._lock, suppress(ValueError):
            self._benchmarks.setdefault(key, benchmark)


KEPT = KeptBenchmarks(_MAX_BYTES)
"""Those of this process."""


def fingerprint_of_file(path: Path) -> tuple[Hashable, ...] | None:
    """Returns a cache key for a version of a file.

    None if the file does not exist, or changed so recently that its timestamp is not reliable.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if time.time_ns() - status.st_mtime_ns < _CLOCK_TICK_NANOSECONDS:
        return None
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (str(path), status.st_dev, status.st_ino, status.st_size, *times)
