"""Datasets of Hugging Face, from files of the shape of ComPile."""

import pickle
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.datasets import HuggingFaceDataset
from compiler_gym.errors import BenchmarkInitError, DatasetInitError

NAME = "benchmark://compile-v0"
BITCODE = (Path(__file__).parent / "llvm10" / "program.bc").read_bytes()
ROWS = 5
URIS = [f"{NAME}/{row}" for row in range(ROWS)]


@pytest.fixture(scope="module", autouse=True)
def isolated(tmp_path_factory):
    """Nothing is fetched, and nothing is kept in the home directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_DATASETS_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    """Five programs: the last one is a text."""
    path = tmp_path_factory.mktemp("data") / "programs.parquet"
    table = {
        "content": [b"%d" % row for row in range(ROWS - 1)] + [BITCODE],
        "license_expression": ["MIT"] * (ROWS - 1) + ["Apache-2.0"],
        "language": ["c"] * ROWS,
    }
    pyarrow.parquet.write_table(pyarrow.table(table), path, row_group_size=2)
    return path


@pytest.fixture
def make(parquet, tmp_path):
    def make(path="parquet", **options):
        options = {"options": {"data_files": str(parquet)}, "site_data_base": tmp_path} | options
        return HuggingFaceDataset(NAME, path, **options)

    return make


def contents(benchmark):
    return benchmark.proto.program.contents


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def dataset(request, make):
    return make(streaming=request.param)


def test_rows(dataset):
    assert dataset.size == 0 and URIS[0] not in dataset and not dataset.installed
    assert list(dataset.benchmark_uris()) == URIS
    assert [contents(benchmark) for benchmark in dataset] == [b"0", b"1", b"2", b"3", BITCODE]
    assert [str(benchmark) for benchmark in dataset] == URIS
    for row in (3, 1, 1, 4, 0):
        assert contents(dataset[URIS[row]]) == (BITCODE if row == 4 else b"%d" % row)
    assert dataset.installed
    assert dataset.source == "Hugging Face: parquet"


@pytest.mark.parametrize("row", ["5", "99", "-1", "x", "", "1?a=b", "9" * 5000])
def test_no_such_row(dataset, row):
    with pytest.raises(LookupError, match="benchmark://compile-v0"):
        dataset.benchmark(f"{NAME}/{row}")
    assert contents(dataset[URIS[2]]) == b"2"


def test_whole(make):
    dataset = make()
    dataset.install()
    assert dataset.size == ROWS
    assert URIS[4] in dataset and f"{NAME}/5" not in dataset
    draws = [str(dataset.random_benchmark(np.random.default_rng(seed))) for seed in range(40)]
    assert draws == [str(dataset.random_benchmark(np.random.default_rng(n))) for n in range(40)]
    assert set(draws) == set(URIS)
    assert list(make(split="train[:2]").benchmark_uris()) == URIS[:2]


def test_streamed(make):
    dataset = make(streaming=True)
    assert list(islice(dataset.benchmark_uris(), 2)) == URIS[:2]
    assert dataset.size == 0
    dataset.benchmark(URIS[2])
    assert URIS[2] in dataset and URIS[3] not in dataset
    with pytest.raises(ValueError, match="number of benchmarks"):
        dataset.random_benchmark()


def test_facts_of_the_row_at_hand_need_no_other_stream(make, monkeypatch):
    dataset = make(streaming=True)
    numbers = []
    for benchmark in dataset:
        monkeypatch.setattr(dataset, "_rows", None)
        assert dataset.facts(benchmark)["language"] == "c"
        numbers.append(str(benchmark))
    assert numbers == URIS


def test_rows_are_read_once(make, monkeypatch):
    dataset = make()
    dataset.install()
    dataset.benchmark(URIS[1])
    monkeypatch.setattr(dataset, "_row_of", None)
    assert contents(dataset.benchmark(URIS[1])) == b"1"


def test_another_load_may_be_something_else(make, parquet, tmp_path):
    dataset = make()
    assert contents(dataset[URIS[0]]) == b"0"
    table = pyarrow.table({"content": [b"new"]})
    pyarrow.parquet.write_table(table, tmp_path / "new.parquet")
    other = make(options={"data_files": str(tmp_path / "new.parquet")})
    assert contents(other[URIS[0]]) == b"new"


def test_files_are_kept_and_removed(make):
    dataset = make()
    dataset.install()
    assert dataset.site_data_size_in_bytes > 0
    dataset.uninstall()
    assert not dataset.installed and not dataset.site_data_path.exists()
    assert contents(dataset[URIS[3]]) == b"3"


def test_pickle(dataset):
    assert contents(dataset[URIS[0]]) == b"0"
    copy = pickle.loads(pickle.dumps(dataset))
    assert not copy.installed
    assert contents(copy[URIS[1]]) == b"1" and contents(dataset[URIS[1]]) == b"1"


def test_episode(make):
    with LlvmEnv() as env:
        env.datasets.add(make())
        env.reset(benchmark=URIS[4])
        before = env.observation["IrInstructionCount"]
        env.step(env.action_space["sroa"])
        assert 0 < env.observation["IrInstructionCount"] < before


def test_missing_library(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DatasetInitError) as error:
        make().install()
    assert "pip install 'compiler_gym[huggingface]'" in str(error.value)


def test_datasets_that_cannot_be_loaded(make):
    with pytest.raises(DatasetInitError, match="'bitcode'"):
        make(column="bitcode", streaming=True).install()
    with pytest.raises(DatasetInitError, match="llvm-ml/ComPile"):
        make("llvm-ml/ComPile", options={}).install()


@pytest.mark.parametrize("column, row", [("content", 0), ("content", 1), ("number", 2)])
def test_invalid_program(make, tmp_path, column, row):
    table = pyarrow.table({"content": [None, b"", b"x"], "number": [1, 2, 3]})
    pyarrow.parquet.write_table(table, tmp_path / "odd.parquet")
    dataset = make(column=column, options={"data_files": str(tmp_path / "odd.parquet")})
    with pytest.raises(BenchmarkInitError, match=f"'{column}'"):
        dataset.benchmark(URIS[row])


def test_textual_ir(make, tmp_path):
    table = pyarrow.table({"content": ["define void @f() { ret void }"]})
    pyarrow.parquet.write_table(table, tmp_path / "text.parquet")
    dataset = make(options={"data_files": str(tmp_path / "text.parquet")})
    assert contents(dataset[URIS[0]]) == b"define void @f() { ret void }"
