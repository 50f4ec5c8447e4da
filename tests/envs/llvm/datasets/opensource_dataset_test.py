import json
import pickle
from contextlib import suppress

import numpy as np
import pytest

from compiler_gym.datasets import PARTS, Subset
from compiler_gym.envs.llvm.datasets import LlvmDatasets, OpenSourceDataset
from compiler_gym.envs.llvm.datasets.opensource_dataset import LANGUAGES
from compiler_gym.errors import BenchmarkInitError, DatasetInitError

NAME = "benchmark://opensource-v0"

SOURCES = {
    "src/one.c": '#include "own.h"\nint one(void) { return OWN + MACRO; }\n',
    "src/two.cpp": "#include <vector>\nint two(std::vector<int> x) { return x.at(0); }\n",
    "src/broken.c": "int broken(void) { return missing; }\n",
    "include/own.h": "#define OWN 1\n",
}


@pytest.fixture
def make(tmp_path, mirror):
    """Makes a dataset of two packages, which the mirror has unless told otherwise."""

    def make(is_there=True, spoil=bytes):
        packages, lines = [], []
        for name, part in (("first", "train"), ("second", "test")):
            file, sha256 = mirror.add(name, SOURCES, spoil, is_there)
            packages.append(
                {
                    "name": name,
                    "version": "1.0",
                    "file": file,
                    "sha256": sha256,
                    "license": "MIT",
                    "topic": "tests",
                    "part": part,
                    "include": ["include"],
                    "define": ["MACRO=2"],
                }
            )
            lines += [f"{name}/{file}\n" for file in SOURCES if not file.endswith(".h")]
        folder = tmp_path / "lists"
        folder.mkdir()
        (folder / "packages.json").write_text(json.dumps(packages))
        (folder / "manifest.txt").write_text("".join(lines))
        return OpenSourceDataset(tmp_path / "site", folder=folder)

    return make


def test_lists_need_no_download(make):
    dataset = make(is_there=False)
    assert dataset.size == len(dataset) == 6
    assert next(dataset.benchmark_uris()) == f"{NAME}/first/src/one.c"
    assert not dataset.installed
    assert f"{NAME}/second/src/two.cpp" in dataset
    for uri in "/first/include/own.h", "/third/src/one.c", "/first", "", "/first/src/one.c?a=b":
        assert NAME + uri not in dataset
    assert dataset.packages["first"].license == "MIT"


def test_parts_are_apart(make):
    dataset = make()
    by_part = {part: list(dataset.benchmark_uris(part)) for part in PARTS}
    assert by_part["train"] + by_part["test"] == list(dataset.benchmark_uris())
    assert not by_part["validation"]
    assert {uri.split("/")[3] for uri in by_part["train"]} == {"first"}
    assert {uri.split("/")[3] for uri in by_part["test"]} == {"second"}
    with pytest.raises(ValueError, match=r"'validation'.*'tests'"):
        next(dataset.benchmark_uris("tests"))


def test_files_are_compiled_on_demand(make):
    dataset = make()
    for file in ("src/one.c", "src/two.cpp"):
        program = dataset.benchmark(f"{NAME}/first/{file}")
        assert program.proto.program.contents[:2] == b"BC"
        assert program.source == SOURCES[file]
        assert program.proto == pickle.loads(pickle.dumps(dataset)).benchmark(str(program)).proto
    packages = dataset.site_data_path / "packages"
    assert [path.name for path in packages.iterdir() if path.is_dir()] == ["first-1.0"]
    assert not dataset.installed
    dataset.install()
    assert dataset.installed
    dataset.uninstall()
    assert not dataset.installed


def test_random_benchmarks_of_a_part(make):
    dataset = make()
    generator = np.random.default_rng(0)
    drawn = set()
    for _ in range(20):
        try:
            drawn.add(str(dataset.random_benchmark(generator, part="test")))
        except BenchmarkInitError as error:
            assert "use of undeclared identifier 'missing'" in str(error)
    assert drawn == {f"{NAME}/second/src/one.c", f"{NAME}/second/src/two.cpp"}


@pytest.mark.parametrize("part", [None, "train"])
def test_prefetch(make, mirror, part):
    dataset, progress = make(), []
    chosen = Subset(dataset, part)
    chosen.prefetch(on_progress=lambda done, total: progress.append((done, total)))
    assert progress == ([(1, 1)] if part else [(1, 2), (2, 2)])
    assert dataset.installed == (part is None)
    for archive in mirror.folder.iterdir():
        archive.unlink()
    generator = np.random.default_rng(0)
    for _ in range(8):
        with suppress(BenchmarkInitError):
            chosen.random_benchmark(generator)
    with pytest.raises(ValueError, match=r"'dev'"):
        dataset.prefetch("dev")


def test_unknown_files(make):
    with pytest.raises(LookupError, match=f"{NAME}/first/src/one.c"):
        make().benchmark(f"{NAME}/first/src/ona.c")


def test_without_network(make):
    dataset = make(is_there=False)
    with pytest.raises(DatasetInitError, match=r"first-1\.0\.tar\.gz"):
        dataset.benchmark(f"{NAME}/first/src/one.c")
    assert not any((dataset.site_data_path / "packages").glob("first*"))


def test_damaged_archives(make):
    dataset = make(spoil=lambda data: data[: len(data) // 2])
    with pytest.raises(DatasetInitError, match="Cannot unpack"):
        dataset.benchmark(f"{NAME}/first/src/one.c")
    assert not any((dataset.site_data_path / "packages").glob("first*"))


def test_unwritable_packages(make, tmp_path):
    dataset = make()
    (tmp_path / "site").write_text("not a directory")
    with pytest.raises(DatasetInitError, match="store first"):
        dataset.benchmark(f"{NAME}/first/src/one.c")


def test_the_packages_of_the_release(tmp_path):
    dataset = OpenSourceDataset(tmp_path)
    packages = dataset.packages.values()
    assert len(packages) >= 40
    assert dataset.size >= 3000
    assert len({package.sha256 for package in packages}) == len(packages)
    assert {package.part for package in packages} == set(PARTS)
    for package in packages:
        assert package.license and package.topic
        assert package.file.endswith(".tar.gz")
        assert package.version in package.file
    used = {uri.split("/")[3] for uri in dataset.benchmark_uris()}
    assert used == set(dataset.packages)
    assert all(f".{uri.rpartition('.')[2]}" in LANGUAGES for uri in dataset.benchmark_uris())
    uris = list(dataset.benchmark_uris())
    assert len(set(uris)) == len(uris)
    assert uris == sorted(uris)
    assert uris[0] in LlvmDatasets([dataset])["benchmark://opensource-v0"]
    assert not any(tmp_path.iterdir())
