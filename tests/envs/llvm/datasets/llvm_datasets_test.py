import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from compiler_gym.datasets import Benchmark, Dataset
from compiler_gym.envs.llvm.datasets import llvm_datasets
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets


class OneProgram(Dataset):
    def __init__(self):
        super().__init__("benchmark://one-v0", description="", license="")

    def benchmark_uris(self):
        yield "benchmark://one-v0/x"

    def benchmark_from_parsed_uri(self, uri):
        return Benchmark.from_file_contents(uri, b"one")


@pytest.fixture
def datasets():
    return LlvmDatasets([OneProgram()])


@pytest.mark.parametrize("uri", ["file://{}/x.c", "file://{}/x.bc", "benchmark://file-v0{}/x.bc"])
def test_missing_file(datasets, tmp_path, uri):
    with pytest.raises(FileNotFoundError):
        datasets.benchmark(uri.format(tmp_path))


@pytest.mark.parametrize(
    ("uri", "maker"),
    [
        ("benchmark://user-v0/x", "env.make_benchmark()"),
        ("benchmark://clang-v0/cc+a.c", "env.make_benchmark_from_command_line()"),
    ],
)
def test_program_of_a_user(datasets, uri, maker):
    with pytest.raises(LookupError) as error:
        datasets.benchmark(uri)
    assert maker in str(error.value)
    benchmark = Benchmark.from_file_contents(uri, b"mine")
    datasets.remember(benchmark)
    assert datasets.benchmark(uri) is benchmark


def test_only_the_last_are_remembered(monkeypatch):
    monkeypatch.setattr(llvm_datasets, "_MAX_REMEMBERED", 2)
    datasets = LlvmDatasets([OneProgram()])
    uris = [f"benchmark://user-v0/{number}" for number in range(3)]
    for uri in [*uris, uris[1]]:
        datasets.remember(Benchmark.from_file_contents(uri, b"mine"))
    for uri in uris[1:]:
        assert datasets.benchmark(uri) == uri
    with pytest.raises(LookupError):
        datasets.benchmark(uris[0])


class YieldingUri(str):
    """Lets another thread go on whenever a dictionary looks for it."""

    def __str__(self):
        return self

    def __hash__(self):
        time.sleep(0)
        return super().__hash__()


def test_threads_can_remember_programs_at_once(monkeypatch):
    monkeypatch.setattr(llvm_datasets, "_MAX_REMEMBERED", 1)
    datasets = LlvmDatasets([OneProgram()])

    def remember(number):
        for _ in range(200):
            datasets.remember(SimpleNamespace(uri=YieldingUri(number)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(remember, range(8)))


def test_benchmarks_may_look_like_files(datasets):
    assert str(datasets.benchmark("one-v0/folder/program.c")).endswith("one-v0/folder/program.c")
    with pytest.raises(LookupError, match="two-v0"):
        datasets.benchmark("two-v0/folder/program.c")
    with pytest.raises(LookupError, match="file"):
        datasets.benchmark("folder/program.c")
