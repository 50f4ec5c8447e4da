from collections import Counter
from itertools import count, islice

import numpy as np
import pytest

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, Datasets
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File


class Numbers(Dataset):
    """The benchmarks /0, /1, … of a number, which is infinite if None."""

    def __init__(self, name, count=3, installed=True, **kwargs):
        super().__init__(name=name, description="Numbers", license="MIT", **kwargs)
        self.count = count
        self.is_installed = installed

    @property
    def installed(self):
        return self.is_installed

    def install(self):
        super().install()
        self.is_installed = True

    @property
    def size(self):
        return self.count or 0

    def benchmark_uris(self):
        numbers = count() if self.count is None else range(self.count)
        return (f"{self.name}/{i}" for i in numbers)

    def benchmark_from_parsed_uri(self, uri):
        self._check_own(uri)
        return Benchmark.from_file_contents(uri, b"")

    def random_benchmark(self, random_state=None):
        if self.count is None:
            return self.benchmark(f"{self.name}/{random_state.integers(1000)}")
        return super().random_benchmark(random_state)


@pytest.fixture
def datasets():
    return Datasets(
        [
            Numbers("benchmark://b-v0", 1),
            Numbers("benchmark://a-v0", 3),
            Numbers("generator://g-v0", None, sort_order=-1),
            Numbers("benchmark://old-v0", 2, deprecated="use benchmark://a-v0"),
        ]
    )


VISIBLE = ["generator://g-v0", "benchmark://a-v0", "benchmark://b-v0"]


def test_add_and_remove(datasets):
    new = Numbers("c-v0")
    datasets["benchmark://c-v0"] = new
    assert datasets["c-v0"] is new
    with pytest.raises(ValueError, match="d-v0"):
        datasets["benchmark://d-v0"] = new
    replacement = Numbers("c-v0")
    datasets.add(replacement)
    assert datasets["c-v0"] is replacement
    del datasets["c-v0"]
    assert "c-v0" not in datasets
    datasets.remove("b-v0")
    assert "b-v0" not in datasets
    with pytest.raises(LookupError):
        datasets.remove("b-v0")


def test_benchmarks_in_turns(datasets):
    expected = [
        "generator://g-v0/0",
        "benchmark://a-v0/0",
        "benchmark://b-v0/0",
        "generator://g-v0/1",
        "benchmark://a-v0/1",
        "generator://g-v0/2",
        "benchmark://a-v0/2",
        "generator://g-v0/3",
        "generator://g-v0/4",
    ]
    assert list(islice(datasets.benchmark_uris(), 9)) == expected
    assert list(islice(datasets.benchmarks(), 9)) == expected
    datasets.remove("g-v0")
    assert len(list(datasets.benchmark_uris())) == 4
    assert len(list(datasets.benchmark_uris(with_deprecated=True))) == 6


def test_installed_only(datasets):
    datasets.add(Numbers("far-v0", installed=False))
    assert "far-v0" in [d.name.split("//")[1] for d in datasets]
    assert list(datasets.datasets(installed_only=True)) == VISIBLE
    uris = islice(datasets.benchmark_uris(installed_only=True), 100)
    assert not any(uri.startswith("benchmark://far") for uri in uris)
    for i in range(50):
        benchmark = datasets.random_benchmark(np.random.default_rng(i), installed_only=True)
        assert not benchmark.uri.startswith("benchmark://far")


def test_benchmark(datasets):
    assert datasets.benchmark("benchmark://a-v0/1") == "benchmark://a-v0/1"
    assert datasets.benchmark("a-v0/1") == "benchmark://a-v0/1"
    assert datasets.benchmark("g-v0/1?x=2") == "generator://g-v0/1?x=2"
    assert datasets.benchmark(BenchmarkUri.from_string("a-v0/1")) == "benchmark://a-v0/1"
    assert datasets.benchmark("benchmark://old-v0/0") == "benchmark://old-v0/0"
    with pytest.raises(LookupError, match="x-v0"):
        datasets.benchmark("benchmark://x-v0/1")
    with pytest.raises(ValueError, match="Malformed"):
        datasets.benchmark("two words")


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("name", ["a b.bc", "a#b.bc"])
def test_file_scheme(datasets, tmp_path, quoted, name):
    (tmp_path / "a").write_bytes(b"another")
    path = tmp_path / name
    path.write_bytes(b"program")
    uri = path.as_uri() if quoted else f"file://{path}"
    benchmark = datasets.benchmark(uri)
    assert benchmark == uri
    assert benchmark.proto.program.contents == b"program"


def test_proto_scheme(datasets, tmp_path):
    path = tmp_path / "x.pb"
    proto = BenchmarkProto(uri="benchmark://a-v0/1", program=File(contents=b"program"))
    proto.dynamic_config.run_cmd.argument.append("./a.out")
    path.write_bytes(proto.SerializeToString())
    benchmark = datasets.benchmark(f"proto://{path}")
    assert benchmark == f"proto://{path}"
    assert benchmark.proto.program.contents == b"program"
    assert benchmark.proto.dynamic_config.run_cmd.argument == ["./a.out"]
    (tmp_path / "x.pb").write_bytes(b"\xff\xff not a message")
    with pytest.raises(BenchmarkInitError, match="Benchmark message"):
        datasets.benchmark(f"proto://{tmp_path}/x.pb")


@pytest.mark.parametrize("scheme", ["file", "proto"])
def test_missing_file(datasets, tmp_path, scheme):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        datasets.benchmark(f"{scheme}://{tmp_path}/missing")


def _frequencies(datasets, **kwargs):
    random_state = np.random.default_rng(0)
    return Counter(
        datasets.random_benchmark(random_state, **kwargs).uri.dataset for _ in range(2000)
    )


def test_frequencies_of_random_benchmarks(datasets):
    datasets.add(Numbers("empty-v0", 0))
    frequencies = _frequencies(datasets)
    assert set(frequencies) == {"a-v0", "b-v0", "g-v0"}
    assert all(n == pytest.approx(667, abs=80) for n in frequencies.values())
    frequencies = _frequencies(datasets, weighted=True)
    assert set(frequencies) == {"a-v0", "b-v0"}
    assert frequencies["a-v0"] == pytest.approx(1500, abs=80)


class Sealed(Numbers):
    SEALED = True


def test_sealed_datasets_must_be_named():
    datasets = Datasets([Numbers("benchmark://a-v0"), Sealed("benchmark://s-v0")])
    assert "benchmark://s-v0" in [dataset.name for dataset in datasets]
    assert datasets.benchmark("benchmark://s-v0/1").uri.dataset == "s-v0"
    assert [*datasets.benchmark_uris()] == [f"benchmark://a-v0/{i}" for i in range(3)]
    rng = np.random.default_rng(0)
    drawn = {
        weighted: {datasets.random_benchmark(rng, weighted=weighted).uri.dataset for _ in range(30)}
        for weighted in (False, True)
    }
    assert drawn == {False: {"a-v0"}, True: {"a-v0"}}
    assert datasets.random_benchmark(rng, weights={"s-v0": 1}).uri.dataset == "s-v0"


@pytest.mark.parametrize("weights", [{}, {"a-v0": 0}, {"a-v0": -1, "b-v0": 2}])
def test_random_benchmark_with_bad_weights(datasets, weights):
    with pytest.raises(ValueError, match="no dataset to draw"):
        datasets.random_benchmark(weights=weights)


def test_random_benchmark_is_reproducible(datasets):
    draws = [
        [datasets.random_benchmark(np.random.default_rng(i)) for i in range(20)] for _ in range(2)
    ]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 5
    assert datasets.random_benchmark() is not None
