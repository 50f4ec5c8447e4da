"""The datasets that were published for CompilerGym before."""

import bz2
import hashlib
import io
import re
import tarfile

import pytest

from compiler_gym.datasets import BenchmarkWithSource, Datasets, TarDatasetWithManifest
from compiler_gym.envs.llvm.datasets import published as module
from compiler_gym.envs.llvm.datasets.published import (
    published_dataset,
    published_datasets,
    published_facts,
)
from compiler_gym.errors import DatasetInitError
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


def test_deprecated(tmp_path):
    names = {d.name for d in published_datasets(tmp_path, {"c": copy_source}) if d.deprecated}
    assert names == {
        "benchmark://anghabench-v0",
        "benchmark://cBench-v0",
        "benchmark://cBench-v1",
        "benchmark://mibench-v0",
        "benchmark://poj104-v0",
    }


def test_unknown_name(tmp_path):
    with pytest.raises(LookupError, match="Did you mean benchmark://npb-v0"):
        published_dataset("benchmark://nbp-v0", tmp_path)


def test_missing_compiler(tmp_path):
    with pytest.raises(ValueError, match=r"chstone-v0 needs a compiler of c source files"):
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


def _tar(files, compression):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{compression}") as tar:
        for name, contents in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            tar.addfile(info, io.BytesIO(contents))
    return data.getvalue()


def _serve(monkeypatch, mirror, name, files, manifest):
    """Puts files of a published dataset in a mirror, with the checksums that they have."""
    facts = dict(published_facts()[name])
    archive = _tar(files, facts["tar_compression"])
    facts["tar_sha256"] = hashlib.sha256(archive).hexdigest()
    mirror.mkdir()
    (mirror / facts["tar_urls"][0].rpartition("/")[2]).write_bytes(archive)
    if manifest is not None:
        data = bz2.compress(manifest)
        facts["manifest_sha256"] = hashlib.sha256(data).hexdigest()
        (mirror / facts["manifest_urls"][0].rpartition("/")[2]).write_bytes(data)
    monkeypatch.setattr(module, "published_facts", lambda: {name: facts})
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))


def test_bitcode_dataset_from_mirror(tmp_path, monkeypatch):
    files = {"npb-v0/1.bc": b"one", "npb-v0/2.bc": b"two"}
    _serve(monkeypatch, tmp_path / "mirror", "benchmark://npb-v0", files, b"1\n2\n")
    dataset = Datasets(published_datasets(tmp_path / "site")).require("npb-v0")
    assert isinstance(dataset, TarDatasetWithManifest)
    assert list(dataset) == ["benchmark://npb-v0/1", "benchmark://npb-v0/2"]
    assert dataset["npb-v0/2"].proto.program.contents == b"two"


def test_source_dataset_from_mirror(tmp_path, monkeypatch):
    prefix = published_facts()["benchmark://chstone-v0"]["strip_prefix"]
    files = {f"{prefix}/sha/sha_driver.c": b"int main;", f"{prefix}/sha/sha.c": b""}
    _serve(monkeypatch, tmp_path / "mirror", "benchmark://chstone-v0", files, None)
    dataset = published_dataset("benchmark://chstone-v0", tmp_path / "site", copy_source)
    assert dataset.size == 12
    benchmark = dataset.benchmark("benchmark://chstone-v0/sha")
    assert isinstance(benchmark, BenchmarkWithSource)
    assert benchmark.proto.program.contents == b"compiled int main;"
    assert benchmark.source == "int main;"
    with pytest.raises(LookupError, match="Did you mean benchmark://chstone-v0/sha"):
        dataset.benchmark("benchmark://chstone-v0/sha_driver")
