"""An in-memory cache of benchmarks, so that their files are read once."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Lock

from compiler_gym.datasets.benchmark import Benchmark

_MAX_BYTES = 128 << 20
# Changes within one tick of the file system's clock leave the same timestamp.
_CLOCK_TICK_NANOSECONDS = 50_000_000
# The memory use of a benchmark besides its program, in bytes.
_OVERHEAD_BYTES = 4096


class KeptBenchmarks:
    """A cache of the most recently used benchmarks. It is thread-safe.

    Args:
        max_bytes: The maximum memory use of their programs.
    """

    def __init__(self, max_bytes: int):
        self._max_bytes = max_bytes
        self._bytes = 0
        self._benchmarks: OrderedDict[Hashable, Benchmark] = OrderedDict()
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
            if benchmark is not None:
                self._benchmarks.move_to_end(key)
        if benchmark is None:
            benchmark = make().copy()
            self._keep(key, benchmark)
        return benchmark.copy()

    def _keep(self, key: Hashable, benchmark: Benchmark) -> None:
        with self._lock:
            if key in self._benchmarks:
                return
            self._benchmarks[key] = benchmark
            self._bytes += _size(benchmark)
            while self._bytes > self._max_bytes:
                self._bytes -= _size(self._benchmarks.popitem(last=False)[1])


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


def _size(benchmark: Benchmark) -> int:
    return benchmark.memory_bytes() + _OVERHEAD_BYTES
