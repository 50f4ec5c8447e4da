import itertools
import pickle

import numpy as np
import pytest

from compiler_gym.datasets import PARTS, BenchmarkSource
from compiler_gym.envs.llvm.datasets import CsmithDataset, LlvmStressDataset
from compiler_gym.envs.llvm.datasets.generators import SEEDS
from compiler_gym.errors import EnvironmentNotSupported

CLASSES = (CsmithDataset, LlvmStressDataset)


@pytest.fixture(params=CLASSES)
def dataset(request):
    return request.param()


@pytest.fixture
def without_programs(dataset, monkeypatch):
    """Makes empty ones, as the names alone matter."""
    monkeypatch.setattr(type(dataset), "_make", lambda *_: (BenchmarkSource("x", b""), b""))


def test_programs_are_made_again_from_their_seeds(dataset):
    program = dataset.benchmark_from_seed(3)
    assert str(program.uri) == f"{dataset.name}/3"
    assert program.proto == dataset.benchmark(f"{dataset.name}/3").proto
    assert program.proto == pickle.loads(pickle.dumps(dataset)).benchmark_from_seed(3).proto
    assert program.proto.program != dataset.benchmark_from_seed(4).proto.program
    assert program.source
    assert program.is_validatable()


def test_is_infinite(dataset, without_programs):
    assert dataset.size == len(dataset) == 0
    first = [f"{dataset.name}/{seed}" for seed in range(3)]
    assert list(itertools.islice(dataset.benchmark_uris(), 3)) == first
    drawn = [dataset.random_benchmark(np.random.default_rng(seed)).uri for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("path", ["", "/", "/x", "/-1", f"/{SEEDS}", "/1/2", "/1?a=b", "/²", "/+1"])
def test_invalid_seed(dataset, path):
    uri = dataset.name + path
    assert uri not in dataset
    with pytest.raises((ValueError, LookupError), match=f"0 to {SEEDS - 1}"):
        dataset.benchmark(uri)


def test_membership_does_not_generate_the_program(dataset, monkeypatch):
    monkeypatch.setattr(type(dataset), "_make", None)
    assert f"{dataset.name}/{SEEDS - 1}" in dataset
    assert f"{dataset.name}/0" in dataset


def test_without_csmith(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    dataset = CsmithDataset()
    assert not dataset.installed
    with pytest.raises(EnvironmentNotSupported, match="apt-get install"):
        dataset.benchmark_from_seed(0)


def test_without_the_headers_of_csmith(monkeypatch, tmp_path):
    program = tmp_path / "bin" / "csmith"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'int main(void) { return 0; }'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    with pytest.raises(EnvironmentNotSupported, match=r"csmith\.h.*libcsmith-dev"):
        CsmithDataset().benchmark_from_seed(0)


def test_parts(dataset, without_programs):
    for part in PARTS:
        uris = list(itertools.islice(dataset.benchmark_uris(part), 20))
        assert {dataset.part_of(uri) for uri in uris} == {part}
    drawn = dataset.random_benchmark(np.random.default_rng(0), part="validation")
    assert dataset.part_of(drawn.uri) == "validation"
    with pytest.raises(ValueError, match="got 'dev'"):
        dataset.random_benchmark(part="dev")
