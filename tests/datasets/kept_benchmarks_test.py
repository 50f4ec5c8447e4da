import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from compiler_gym.datasets import Benchmark, Datasets, FilesDataset
from compiler_gym.datasets.benchmark import KeptBenchmarks, fingerprint_of_file
from compiler_gym.errors import ValidationError

URI = "benchmark://mine-v0/a"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.bc").write_bytes(b"first")
    wait_for_the_clock(tmp_path / "a.bc")
    return tmp_path / "a.bc"


def wait_for_the_clock(path):
    while fingerprint_of_file(path) is None:
        time.sleep(0.01)


@pytest.fixture
def reads(monkeypatch):
    """The URIs of the files that are read."""
    uris = []
    from_file = Benchmark.from_file.__func__

    def spy(cls, uri, path):
        uris.append(str(uri))
        return from_file(cls, uri, path)

    monkeypatch.setattr(Benchmark, "from_file", classmethod(spy))
    return uris


def make(path, dataset_class=FilesDataset):
    return dataset_class(
        name="benchmark://mine-v0",
        description="",
        license="",
        dataset_root=path.parent,
        benchmark_file_suffix=".bc",
    )


@pytest.mark.parametrize("uri", [URI, "file://{path}"])
def test_environments_of_a_process_read_a_file_once(path, reads, uri):
    uri = uri.format(path=path)
    contents = [Datasets([make(path)]).benchmark(uri).proto.program.contents for _ in range(3)]
    assert contents == [b"first"] * 3
    assert reads == [uri]


@pytest.mark.parametrize("uri", [URI, "file://{path}"])
def test_changed_file_is_read_again(path, uri):
    datasets = Datasets([make(path)])
    for contents in (b"first", b"other", b"third one"):
        path.write_bytes(contents)  # Within a tick of the clock.
        assert datasets.benchmark(uri.format(path=path)).proto.program.contents == contents
    wait_for_the_clock(path)
    assert datasets.benchmark(uri.format(path=path)).proto.program.contents == b"third one"
    (path.parent / "new").write_bytes(b"fourth")
    os.replace(path.parent / "new", path)
    assert datasets.benchmark(uri.format(path=path)).proto.program.contents == b"fourth"
    path.unlink()
    with pytest.raises((LookupError, FileNotFoundError)):
        datasets.benchmark(uri.format(path=path))


def test_changes_of_a_benchmark_are_not_cached(path):
    dataset = make(path)
    benchmark = dataset[URI]
    benchmark.add_validation_callback(lambda env: [ValidationError("bad")])
    benchmark.proto.program.contents = b"changed"
    again = dataset[URI]
    assert not again.is_validatable() and again.proto.program.contents == b"first"
    assert benchmark.proto.program.contents == b"changed"


class Doubled(FilesDataset):
    """Makes its benchmarks in its own way, without a word on what they are made of."""

    times = 2

    def benchmark_from_parsed_uri(self, uri):
        contents = super().benchmark_from_parsed_uri(uri).proto.program.contents
        return Benchmark.from_file_contents(uri, contents * self.times)


def test_fingerprint_of_a_base_class_is_not_trusted(path):
    first, second = make(path, Doubled), make(path, Doubled)
    second.times = 3
    assert first[URI].proto.program.contents == b"first" * 2
    assert second[URI].proto.program.contents == b"first" * 3


def program(number):
    return Benchmark.from_file_contents(f"benchmark://mine-v0/{number}", b"x" * 1000)


def test_the_last_ones_are_kept():
    size = program(0).memory_bytes() + 4096
    kept = KeptBenchmarks(max_bytes=3 * size)
    made = []

    def use(number):
        kept.get(number, lambda: made.append(number) or program(number))

    for number in (0, 1, 2, 0, 3, 0, 1):
        use(number)
    assert made == [0, 1, 2, 3, 1]


def test_threads():
    kept = KeptBenchmarks(max_bytes=20_000)

    def use(number):
        for _ in range(300):
            benchmark = kept.get(number % 7, lambda: program(number % 7))
            assert benchmark == f"benchmark://mine-v0/{number % 7}"
            benchmark.proto.program.contents = b"mine"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(16)))
    assert all(
        kept.get(number, partial(program, number)).proto.program.contents == b"x" * 1000
        for number in range(7)
    )
