"""The benchmark cache in Python."""

import logging

import numpy as np

from compiler_gym.service.proto import Benchmark, File
from compiler_gym.service.runtime.benchmark_cache import BenchmarkCache


def benchmark(size: int) -> Benchmark:
    """A benchmark of so many bytes, at least 8."""
    overhead = Benchmark(program=File(contents=b"x" * size)).ByteSize() - size
    made = Benchmark(program=File(contents=b"x" * (size - overhead)))
    assert made.ByteSize() == size
    return made


def full_cache(**options) -> BenchmarkCache:
    cache = BenchmarkCache(max_size_in_bytes=100, rng=np.random.default_rng(0), **options)
    for i in range(10):
        cache[str(i)] = benchmark(10)
    return cache


def test_half_is_evicted():
    cache = full_cache()
    assert (cache.size, cache.size_in_bytes) == (10, 100)
    cache["new"] = benchmark(10)
    assert (cache.size, cache.size_in_bytes) == (6, 60)
    assert "new" in cache


def test_more_than_half_is_evicted_for_a_large_one():
    cache = full_cache()
    cache["large"] = benchmark(75)
    assert (cache.size, cache.size_in_bytes) == (3, 95)


def test_too_large(caplog):
    cache = full_cache()
    with caplog.at_level(logging.WARNING):
        cache["huge"] = benchmark(101)
    assert (cache.size, cache.size_in_bytes) == (1, 101)
    assert "huge has 101 bytes, and the cache room for 100" in caplog.text


def test_replacing_evicts_nothing_that_fits():
    cache = full_cache()
    cache["3"] = benchmark(10)
    assert cache.size == 10


def test_limit():
    cache = full_cache()
    cache.max_size_in_bytes = 45
    assert (cache.size, cache.size_in_bytes) == (4, 40)
    assert cache.max_size_in_bytes == 45


def test_evict_to_capacity():
    cache = full_cache()
    cache.evict_to_capacity(80)
    assert cache.size == 8
    cache.evict_to_capacity()
    assert cache.size == 5
    cache.evict_to_capacity(0)
    assert (cache.size, cache.size_in_bytes) == (0, 0)


def test_eviction_depends_on_the_generator_alone():
    first, second = full_cache(), full_cache()
    for cache in (first, second):
        cache.evict_to_capacity()
    assert [str(i) in first for i in range(10)] == [str(i) in second for i in range(10)]
