"""The datasets that were published for CompilerGym before."""

import re

import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.envs.llvm.datasets import published as module
from compiler_gym.envs.llvm.datasets.published import (
    SOURCE_COMPILERS,
    published_dataset,
    published_datasets,
    published_facts,
)
from compiler_gym.errors import BenchmarkInitError, DatasetInitError
from compiler_gym.util.download import MIRROR_VARIABLE


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """An empty cache, and a proxy that refuses connections: nothing leaves this machine."""
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")


def copy_source(source, output):
    output.write_bytes(b"compiled " + source.read_bytes())


def test_facts():
    assert len(published_facts()) == 18
    for name, facts in published_facts().items():
        assert re.fullmatch(r"benchmark://[A-Za-z0-9]+-v[0-9]", name)
        assert re.fullmatch("[0-9a-f]{64}", facts["tar_sha256"])
        assert all(url.startswith("https://") for url in facts["tar_urls"])
        assert facts["description"] and facts["license"]
        if "manifest_urls" in facts:
            assert re.fullmatch("[0-9a-f]{64}", facts["manifest_sha256"])
            assert all(url.startswith("https://") for url in facts["manifest_urls"])


def test_sizes_are_known_without_download(tmp_path):
    compilers = dict.fromkeys(("c", "c++", "opencl"), copy_source)
    datasets = Datasets(published_datasets(tmp_path, compilers))
    sizes = {dataset.name: dataset.size for dataset in datasets}
    assert sizes["benchmark://npb-v0"] == 122
    assert sizes["benchmark://chstone-v0"] == 12
    assert all(sizes.values())
    assert sum(sizes.values()) == 1_177_462  # The published total of the finite datasets.
    assert not any(tmp_path.iterdir())


def test_datasets_that_cannot_be_made(tmp_path):
    with pytest.raises(LookupError, match="benchmark://npb-v0"):
        published_dataset("benchmark://nbp-v0", tmp_path)
    with pytest.raises(ValueError, match="compiler of c "):
        published_dataset("benchmark://chstone-v0", tmp_path)


def test_offline_error_is_clear_and_quick(tmp_path):
    datasets = Datasets(published_datasets(tmp_path))
    with pytest.raises(DatasetInitError) as info:
        datasets.require("npb-v0")
    message = str(info.value)
    assert "Cannot install dataset benchmark://npb-v0" in message
    assert published_facts()["benchmark://npb-v0"]["tar_urls"][0] in message
    assert MIRROR_VARIABLE in message
    assert "benchmark://kernels-v0" in message


def test_time_limit_of_a_compiler(tmp_path, monkeypatch):
    (tmp_path / "a.c").write_text("int x;")
    monkeypatch.setattr(module, "_TIMEOUT_SECONDS", 1e-6)
    with pytest.raises(BenchmarkInitError, match="took more than"):
        SOURCE_COMPILERS["c"](tmp_path / "a.c", tmp_path / "out.bc")
