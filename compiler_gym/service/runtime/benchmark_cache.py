"""A cache of programs by URI, with a limit on their total size."""

import logging
from typing import Any

from compiler_gym.service.proto import Benchmark

logger = logging.getLogger(__name__)

#: Default limit of a cache: 512 MiB.
MAX_SIZE_IN_BYTES = 512 * 1024 * 1024


class BenchmarkCache:
    """Keeps benchmarks by URI, as ``cache[uri]`` and ``uri in cache``.

    The runtime of services has its own cache, written in C++. This class is for sessions that keep
    further programs. When a new benchmark does not fit, others chosen at random are evicted until
    the cache is at most half full and there is room. A benchmark that is larger than the whole
    cache is kept too, with a warning.

    Args:
        max_size_in_bytes: The limit on the sum of the serialised sizes.
        rng: A ``numpy.random.Generator`` that chooses what to evict; by default a new one.
        logger: The logger; by default that of this module.
    """

    def __init__(
        self,
        max_size_in_bytes: int = MAX_SIZE_IN_BYTES,
        rng: Any = None,
        logger: logging.Logger = logger,
    ):
        if rng is None:
            import numpy as np  # Services without a cache need not import it.

            rng = np.random.default_rng()
        self.logger = logger
        self._rng = rng
        self._benchmarks: dict[str, Benchmark] = {}
        self._sizes: dict[str, int] = {}
        self._size_in_bytes = 0
        self._max_size_in_bytes = max_size_in_bytes

    def __getitem__(self, uri: str) -> Benchmark:
        """Returns a benchmark. Raises ``KeyError`` if there is none of that URI."""
        return self._benchmarks[uri]

    def __contains__(self, uri: str) -> bool:
        return uri in self._benchmarks

    def __setitem__(self, uri: str, benchmark: Benchmark) -> None:
        """Adds a benchmark, in place of any other of the same URI."""
        self._remove(uri)
        size = benchmark.ByteSize()
        if self._size_in_bytes + size > self._max_size_in_bytes:
            if size > self._max_size_in_bytes:
                self.logger.warning(
                    "The benchmark %s has %d bytes, and the cache room for %d",
                    uri,
                    size,
                    self._max_size_in_bytes,
                )
            room = max(self._max_size_in_bytes - size, 0)
            self.evict_to_capacity(min(room, self._max_size_in_bytes // 2))
        self._benchmarks[uri] = benchmark
        self._sizes[uri] = size
        self._size_in_bytes += size

    @property
    def size(self) -> int:
        """The number of benchmarks."""
        return len(self._benchmarks)

    @property
    def size_in_bytes(self) -> int:
        """The sum of the serialised sizes of the benchmarks."""
        return self._size_in_bytes

    @property
    def max_size_in_bytes(self) -> int:
        """The limit in bytes. Setting it evicts benchmarks until the others fit."""
        return self._max_size_in_bytes

    @max_size_in_bytes.setter
    def max_size_in_bytes(self, value: int) -> None:
        self._max_size_in_bytes = value
        self.evict_to_capacity(value)

    def evict_to_capacity(self, target_size_in_bytes: int | None = None) -> None:
        """Evicts benchmarks chosen at random.

        Args:
            target_size_in_bytes: The total size to keep; by default half of the limit.
        """
        target = self._max_size_in_bytes // 2
        if target_size_in_bytes is not None:
            target = target_size_in_bytes
        uris = list(self._benchmarks)
        while self._size_in_bytes > target and uris:
            index = int(self._rng.integers(len(uris)))
            uris[index], uris[-1] = uris[-1], uris[index]
            self._remove(uris.pop())

    def _remove(self, uri: str) -> None:
        if self._benchmarks.pop(uri, None) is not None:
            self._size_in_bytes -= self._sizes.pop(uri)
