import itertools
import pickle
import threading
from typing import ClassVar

import pytest

from compiler_gym.datasets import Benchmark, BenchmarkSource, BenchmarkUri, BenchmarkWithSource
from compiler_gym.errors import ValidationError

URI = "benchmark://test-v0/program"


class FakeEnv:
    """Records its forks, of which no two may be made at a time."""

    forks: ClassVar[list["FakeEnv"]] = []
    _busy = threading.Lock()

    def __init__(self):
        self.closed = False

    def fork(self):
        assert FakeEnv._busy.acquire(blocking=False), "two forks at a time"
        try:
            FakeEnv.forks.append(FakeEnv())
            return FakeEnv.forks[-1]
        finally:
            FakeEnv._busy.release()

    def close(self):
        assert not self.closed
        self.closed = True


@pytest.fixture
def env():
    FakeEnv.forks.clear()
    return FakeEnv()


@pytest.fixture
def benchmark():
    return Benchmark.from_file_contents(URI, b"abc")


def test_works_as_its_uri(benchmark):
    assert benchmark == URI
    assert benchmark == benchmark.uri
    assert benchmark == Benchmark.from_file_contents(URI, b"other")
    assert benchmark != "benchmark://test-v0/other"
    assert benchmark != 5
    assert {URI: 1}[benchmark] == 1
    assert repr(benchmark) == str(benchmark) == URI
    assert sorted([benchmark, Benchmark.from_file_contents("a-v0/1", b"")])[1] is benchmark


@pytest.mark.parametrize("attribute", ["uri", "proto", "sources", "anything"])
def test_attributes_cannot_be_set(benchmark, attribute):
    with pytest.raises(AttributeError):
        setattr(benchmark, attribute, 1)


def test_pickle(benchmark):
    benchmark.add_source(BenchmarkSource("a.c", b"int x;"))
    duplicate = pickle.loads(pickle.dumps(benchmark))
    assert duplicate == benchmark
    assert duplicate.proto == benchmark.proto
    assert duplicate.sources == benchmark.sources


def test_sources(benchmark, tmp_path):
    benchmark.add_source(BenchmarkSource("a.c", b"old"))
    benchmark.add_source(("sub/b.h", b"header"))
    benchmark.add_source(BenchmarkSource("a.c", b"new"))
    assert [source.filename for source in benchmark.sources] == ["a.c", "sub/b.h", "a.c"]
    assert benchmark.write_sources_to_directory(tmp_path / "out") == 2
    assert (tmp_path / "out/a.c").read_bytes() == b"new"
    assert (tmp_path / "out/sub/b.h").read_bytes() == b"header"
    assert repr(benchmark.sources[1]) == "sub/b.h (6 bytes)"


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", ""])
def test_sources_stay_in_directory(benchmark, tmp_path, name):
    benchmark.add_source(BenchmarkSource("good.c", b""))
    benchmark.add_source(BenchmarkSource(name, b""))
    with pytest.raises(ValueError, match="inside"):
        benchmark.write_sources_to_directory(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_benchmark_with_source():
    benchmark = BenchmarkWithSource.from_file_contents(URI, b"abc")
    with pytest.raises(ValueError, match="source"):
        _ = benchmark.source
    benchmark.add_source(BenchmarkSource("a.c", "int ä;".encode()))
    assert benchmark.source == "int ä;"


def test_callbacks_are_listed(benchmark, env):
    assert not benchmark.is_validatable()
    assert benchmark.validate(env) == []
    assert env.forks == []

    def callback(env):
        return None

    benchmark.add_validation_callback(callback)
    assert benchmark.is_validatable()
    assert benchmark.validation_callbacks() == [callback]
    benchmark.validation_callbacks().clear()
    assert benchmark.is_validatable()


def test_every_callback_has_a_fork(benchmark, env):
    seen = []
    for _ in range(10):
        benchmark.add_validation_callback(lambda env: seen.append(env))
    assert benchmark.validate(env) == []
    assert set(seen) == set(env.forks) and len(seen) == 10
    assert all(fork.closed for fork in env.forks)
    assert not env.closed


def test_callbacks_run_in_parallel(benchmark, monkeypatch):
    monkeypatch.setattr("compiler_gym.util.thread_pool.processors", lambda: 2)
    barrier = threading.Barrier(2, timeout=100)
    for _ in range(2):
        benchmark.add_validation_callback(lambda env: barrier.wait() and None)
    assert benchmark.validate(None) == []


def test_exception_of_callback(benchmark, env):
    def fail(env):
        raise LookupError("broken callback")

    benchmark.add_validation_callback(fail)
    with pytest.raises(LookupError, match="broken callback"):
        benchmark.validate(env)
    assert [fork.closed for fork in env.forks] == [True]


def test_validation_may_be_abandoned(benchmark, env, monkeypatch):
    monkeypatch.setattr("compiler_gym.util.thread_pool.processors", lambda: 1)
    for _ in range(50):
        benchmark.add_validation_callback(lambda env: [ValidationError(type="wrong")])
    errors = benchmark.ivalidate(env)
    assert next(errors).type == "wrong"
    errors.close()
    assert all(fork.closed for fork in env.forks)


class TestCreate:
    """The way in which datasets of former releases make benchmarks of source files."""

    URI = "benchmark://mine-v0/sort"

    def test_create(self, tmp_path):
        (tmp_path / "sort.bc").write_bytes(b"bitcode")
        (tmp_path / "sort.c").write_text("int f();")
        benchmark = BenchmarkWithSource.create(
            self.URI, tmp_path / "sort.bc", "function.c", tmp_path / "sort.c"
        )
        assert type(benchmark) is BenchmarkWithSource
        assert benchmark == self.URI
        assert benchmark.proto.program.contents == b"bitcode"
        assert benchmark.source == "int f();"
        assert benchmark.sources == [("function.c", b"int f();")]


class TestCopy:
    """Changes of a copy do not affect the benchmark, and vice versa."""

    def test_message(self, benchmark):
        clone = benchmark.copy()
        clone.proto.program.contents = b"other"
        assert benchmark.proto.program.contents == b"abc"
        benchmark.proto.dynamic_config.run_cmd.argument.append("./a.out")
        assert not clone.proto.HasField("dynamic_config")

    def test_digest_of_the_message(self, benchmark):
        digest = benchmark.digest()
        clone = benchmark.copy()
        assert clone.digest() == digest == benchmark.digest()
        clone.proto.program.contents = b"other"
        assert clone.digest() != digest
        clone.proto.program.contents = b"abc"
        assert clone.digest() == digest
        assert Benchmark.from_file_contents(f"{URI}2", b"abc").digest() != digest

    def test_same_message(self, benchmark):
        clone = benchmark.copy()
        assert clone.has_message_of(benchmark)
        assert benchmark.has_message_of(Benchmark.from_file_contents(URI, b"abc"))
        clone.proto.program.contents = b"other"
        assert not clone.has_message_of(benchmark)


def test_benchmarks_uris_and_texts_compare():
    texts = ["benchmark://a-v0/1", "benchmark://a-v0/2"]
    kinds = [str, BenchmarkUri.from_string, lambda uri: Benchmark.from_file_contents(uri, b"")]
    for left, right in itertools.product(kinds, repeat=2):
        low, same, high = left(texts[0]), right(texts[0]), right(texts[1])
        assert low < high and low <= high and high > low and high >= low
        assert low <= same and low >= same and not low < same and not low > same
    with pytest.raises(TypeError):
        assert kinds[2](texts[0]) <= 3
