import bz2
import hashlib
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from compiler_gym.datasets import BenchmarkWithSource, TarDataset, TarDatasetWithManifest
from compiler_gym.errors import DatasetInitError
from compiler_gym.util.download import MIRROR_VARIABLE
from tests.archives import tar_of

PROGRAMS = {"data-v0/a.bc": b"1", "data-v0/sub/b.bc": b"2", "data-v0/README": b"", "x/c.bc": b"3"}


class Source:
    """An archive and a list of benchmarks on this machine.

    Attributes:
        options: What a dataset of it is made with.
    """

    def __init__(self, directory):
        directory.mkdir()
        self.archive = directory / "data.tar.bz2"
        self.archive.write_bytes(tar_of(PROGRAMS, "bz2"))
        self.manifest = directory / "manifest.bz2"
        self.manifest.write_bytes(bz2.compress(b"sub/b\na.bc\n\nbenchmark://data-v0/gone\n"))
        self.options = {
            "name": "benchmark://data-v0",
            "description": "Test data",
            "license": "MIT",
            "site_data_base": directory.parent / "site",
            "benchmark_file_suffix": ".bc",
            "tar_urls": self.archive.as_uri(),
            "tar_sha256": hashlib.sha256(self.archive.read_bytes()).hexdigest(),
            "strip_prefix": "data-v0",
        }
        self.manifest_options = {
            "manifest_urls": [self.manifest.as_uri()],
            "manifest_sha256": hashlib.sha256(self.manifest.read_bytes()).hexdigest(),
        }

    def dataset(self, **options):
        return TarDataset(**{**self.options, **options})

    def dataset_with_manifest(self, **options):
        return TarDatasetWithManifest(**{**self.options, **self.manifest_options, **options})


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    return Source(tmp_path / "source")


URIS = ["benchmark://data-v0/a", "benchmark://data-v0/sub/b"]
MANIFEST_URIS = ["benchmark://data-v0/sub/b", "benchmark://data-v0/a", "benchmark://data-v0/gone"]


def test_containing_by_names_that_are_known_before(source):
    dataset = source.dataset(programs={"first": "a.bc"})
    assert "data-v0/first" in dataset
    assert "data-v0/a" not in dataset
    assert not dataset.installed


def test_another_release_is_not_installed(source):
    source.dataset().install()
    assert source.dataset().installed
    assert not source.dataset(tar_sha256="0" * 64).installed


def test_uninstall_and_install_again(source):
    dataset = source.dataset(size=99)
    assert dataset.size == 99  # As it was published.
    dataset.install()
    assert dataset.size == 2
    dataset.uninstall()
    assert not dataset.installed
    assert not dataset.site_data_path.exists()
    source.archive.unlink()  # What was downloaded is still in the cache.
    dataset.install()
    assert list(dataset.benchmark_uris()) == URIS


def test_interrupted_installation_is_repeated(source):
    dataset = source.dataset()
    dataset.dataset_root.mkdir(parents=True)
    (dataset.dataset_root / "partial.bc").write_bytes(b"")
    left = dataset.site_data_path.with_name(".data-v0.unpack")
    (left / "contents").mkdir(parents=True)
    assert not dataset.installed
    dataset.install()
    assert list(dataset.benchmark_uris()) == URIS
    assert not left.exists()


def test_archive_of_another_form(source):
    with pytest.raises(DatasetInitError, match="'other'"):
        source.dataset(strip_prefix="other").install()
    with pytest.raises(DatasetInitError, match=r"Cannot unpack .*gz"):
        source.dataset(tar_compression="gz").install()
    with pytest.raises(ValueError, match="'zip'"):
        source.dataset(tar_compression="zip")


def test_bad_arguments(source):
    with pytest.raises(ValueError, match="No address"):
        source.dataset(tar_urls=[])
    with pytest.raises(ValueError, match="has no site data"):
        source.dataset(site_data_base=None)


def test_mirror(source, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv(MIRROR_VARIABLE, str(source.archive.parent))
    dataset = source.dataset_with_manifest(
        tar_urls="https://datasets.invalid/data.tar.bz2",
        manifest_urls="https://datasets.invalid/manifest.bz2",
    )
    assert dataset["data-v0/a"].proto.program.contents == b"1"


def test_list_of_the_files_is_in_memory_once(source):
    datasets = [source.dataset(memoize_uris=False) for _ in range(2)]
    first, second = (next(dataset.benchmark_uris()) for dataset in datasets)
    assert first is second
    datasets[0].uninstall()
    assert list(datasets[1].benchmark_uris()) == URIS  # Installed again.


def _count_installations(dataset):
    count = []
    dataset._install = lambda: (count.append(1), TarDataset._install(dataset))
    dataset.install()
    return len(count)


def test_threads_install_once(source):
    with ThreadPoolExecutor(8) as executor:
        counts = list(executor.map(_count_installations, [source.dataset() for _ in range(8)]))
    assert sum(counts) == 1


def _upper(source, output):
    _upper_runs.append(source.name)
    output.write_bytes(source.read_bytes().upper() + b"!")


_upper_runs: list[str] = []


def test_sources_are_compiled_once(source):
    _upper_runs.clear()
    options = {"compiler": _upper, "benchmark_class": BenchmarkWithSource}
    dataset = source.dataset(**options)
    dataset.install()
    assert "data-v0/sub/b" in dataset
    assert not _upper_runs
    for _ in range(2):
        benchmark = source.dataset(**options).benchmark("data-v0/sub/b")
        assert benchmark.proto.program.contents == b"2!"
        assert benchmark.source == "2"
    assert _upper_runs == ["b.bc"]
    dataset = source.dataset(**options)
    dataset.uninstall()
    assert dataset["data-v0/sub/b"].proto.program.contents == b"2!"
    assert len(_upper_runs) == 2


class TestManifest:
    """The list of benchmarks."""

    def test_benchmark_installs(self, source):
        dataset = source.dataset_with_manifest()
        assert dataset["data-v0/a?x=1"].proto.program.contents == b"1"
        assert dataset.installed
        assert list(dataset.benchmark_uris()) == MANIFEST_URIS

    def test_unknown_name_does_not_install(self, source):
        dataset = source.dataset_with_manifest()
        with pytest.raises(LookupError, match="benchmark://data-v0/sub/b"):
            dataset.benchmark("data-v0/sub/c")
        assert not dataset.installed

    def test_containing_does_not_download(self, source):
        dataset = source.dataset_with_manifest()
        assert "data-v0/a" not in dataset  # Nobody knows yet.
        assert not (source.archive.parent.parent / "cache").exists()
        list(dataset.benchmark_uris())
        for same in (dataset, source.dataset_with_manifest(memoize_uris=False)):
            assert "data-v0/a" in same and "data-v0/gone" in same
            assert "data-v0/c" not in same
            assert not same.installed
        dataset.install()
        assert "data-v0/a" in dataset
        assert "data-v0/gone" not in dataset

    def test_uninstall(self, source):
        dataset = source.dataset_with_manifest()
        dataset.install()
        list(dataset.benchmark_uris())
        dataset.uninstall()
        assert dataset.size == 0
        assert [p.name for p in dataset.site_data_path.parent.iterdir()] == [".data-v0.lock"]

    def test_drawing_does_not_go_through_the_list(self, source, monkeypatch):
        dataset = source.dataset_with_manifest()
        uris = list(dataset.benchmark_uris())
        monkeypatch.setattr(dataset, "benchmark_uris", None)
        monkeypatch.setattr(dataset, "benchmark", str)
        draws = [dataset.random_benchmark(np.random.default_rng(seed)) for seed in range(20)]
        numbers = [np.random.default_rng(seed).integers(3) for seed in range(20)]
        assert draws == [uris[number] for number in numbers]

    def test_list_is_not_pickled(self, source):
        lines = "\n".join(f"name-{number}" for number in range(10_000)).encode()
        source.manifest.write_bytes(lines)
        dataset = source.dataset_with_manifest(
            manifest_sha256=hashlib.sha256(lines).hexdigest(), manifest_compression=""
        )
        assert len(list(dataset.benchmark_uris())) == 10_000
        assert len(pickle.dumps(dataset)) < 10_000

    def test_damaged_list(self, source):
        data = bz2.compress(b"a\n")[:-8]
        source.manifest.write_bytes(data)
        dataset = source.dataset_with_manifest(manifest_sha256=hashlib.sha256(data).hexdigest())
        with pytest.raises(DatasetInitError, match="list of benchmarks"):
            list(dataset.benchmark_uris())
