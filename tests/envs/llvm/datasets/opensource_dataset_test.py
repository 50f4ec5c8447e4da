import json
import pickle
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

import compiler_gym
from compiler_gym.datasets import PARTS, Subset
from compiler_gym.envs.llvm.datasets import (
    LlvmDatasets,
    OpenSourceDataset,
    OpenSourceDatasetV1,
    OpenSourceMiniDataset,
    OpenSourceSealedDataset,
)
from compiler_gym.envs.llvm.datasets.opensource_dataset import LANGUAGES
from compiler_gym.envs.thread_environments import ThreadEnvironments
from compiler_gym.errors import BenchmarkInitError, DatasetInitError
from tools import measure_opensource

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


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"is_there": False}, r"first-1\.0\.tar\.gz"),
        ({"spoil": lambda data: data[: len(data) // 2]}, "Cannot unpack"),
    ],
)
def test_missing_and_damaged_archives(make, fault, text):
    dataset = make(**fault)
    with pytest.raises(DatasetInitError, match=text):
        dataset.benchmark(f"{NAME}/first/src/one.c")
    assert not any((dataset.site_data_path / "packages").glob("first*"))


def test_unwritable_packages(make, tmp_path):
    dataset = make()
    (tmp_path / "site").write_text("not a directory")
    with pytest.raises(DatasetInitError, match="store first"):
        dataset.benchmark(f"{NAME}/first/src/one.c")


@pytest.mark.parametrize(
    ("kind", "parts"), [(OpenSourceDataset, PARTS), (OpenSourceSealedDataset, ["test"])]
)
def test_the_packages_of_the_release(tmp_path, kind, parts):
    dataset = kind(tmp_path)
    packages = dataset.packages.values()
    assert len(packages) >= 36
    assert len({package.sha256 for package in packages}) == len(packages)
    assert {package.part for package in packages} == {*parts}
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
    assert uris[0] in LlvmDatasets([dataset])[dataset.name]
    assert not any(tmp_path.iterdir())


def test_sealed_programs_are_apart(tmp_path):
    former, sealed = OpenSourceDataset(tmp_path), OpenSourceSealedDataset(tmp_path)
    assert former.packages.keys().isdisjoint(sealed.packages)
    table = by_path(sealed)
    assert [facts.benchmark for facts in table.values()] == [*sealed.benchmark_uris()]
    known = {facts.identity for facts in former.table()}
    for facts in table.values():
        # The initialisation of <iostream> is the same in all packages.
        assert facts.shared_functions <= 1 and facts.identity not in known
        assert facts.part == "test" == sealed.part_of(facts.benchmark)


KINDS = (OpenSourceDataset, OpenSourceDatasetV1, OpenSourceMiniDataset)


@pytest.fixture(name="kinds")
def fixture_kinds(tmp_path):
    """The datasets of the release, in the order of KINDS."""
    return [kind(tmp_path) for kind in KINDS]


def by_path(dataset, part=None):
    """Returns the facts about programs by the paths in their URIs."""
    return {facts.benchmark.split("/", 3)[3]: facts for facts in dataset.table(part)}


def test_table(kinds, tmp_path):
    everything = by_path(kinds[0])
    for dataset in kinds:
        table = by_path(dataset)
        assert [facts.benchmark for facts in table.values()] == [*dataset.benchmark_uris()]
        for path, facts in table.items():
            assert facts.part == dataset.part_of(facts.benchmark)
            assert facts.package == dataset.package_of(facts.benchmark)
            assert facts[3:] == everything[path][3:]
            assert facts.instructions >= 20 and facts.identity
            assert 0 <= facts.shared_functions <= facts.functions
            if facts.ir_sha1:
                assert len(facts.ir_sha1) == 40 and facts.instructions_oz and facts.code_bytes_oz
            assert len(facts.code_hash) == (16 if facts.functions else 0)
        for part in PARTS:
            of_part = [facts for facts in table.values() if facts.part == part]
            assert dataset.table(part) == of_part
        with pytest.raises(ValueError, match="'dev'"):
            dataset.table("dev")
    assert not any(tmp_path.iterdir())


def test_equal_programs_are_in_one_part_once(kinds):
    former, distinct, small = map(by_path, kinds)
    stays = {facts.identity: path for path, facts in distinct.items()}
    assert len(stays) == len(distinct)
    known = [facts.ir_sha1 for facts in distinct.values() if facts.ir_sha1]
    assert len({*known}) == len(known)
    assert {facts.identity for facts in former.values()} == {*stays}
    assert {*small} < {*distinct} < {*former}
    copies = measure_opensource.duplicates(former.values())
    assert copies == {
        path: stays[facts.identity] for path, facts in former.items() if path not in distinct
    }


def test_small_choice(kinds):
    former, distinct, small = map(by_path, kinds)
    table = [facts for path, facts in former.items() if path in distinct]
    assert [*small] == measure_opensource.mini(table)
    for part, count in ("train", 100), ("validation", 0), ("test", 50):
        assert len(kinds[2].table(part)) == count
    packages = Counter(facts.package for facts in small.values() if facts.part == "train")
    assert max(packages.values()) <= 2
    assert kinds[2].packages.keys() == {facts.package for facts in small.values()}


def test_sizes_need_no_download(kinds, monkeypatch):
    monkeypatch.setattr(OpenSourceDataset, "unpacked", lambda *_: pytest.fail("downloads"))
    for dataset in kinds:
        chosen = Subset(dataset, "test", min_size=5000, max_size=20_000, balance="package")
        sizes = {facts.benchmark: facts.bitcode_bytes for facts in dataset.table("test")}
        uris = [*chosen.benchmark_uris()]
        assert {*uris} == {uri for uri, size in sizes.items() if 5000 <= size <= 20_000}
        assert 0 < chosen.size == len(uris) < len(sizes)


def test_measuring(make, tmp_path, monkeypatch):
    dataset = make()
    folder, keep = tmp_path / "lists", tmp_path / "rows.jsonl"
    with compiler_gym.make("llvm-v0") as env:
        env.datasets.add(dataset)
        environments = ThreadEnvironments(lambda: env)
        rows = measure_opensource.measure_all(environments, folder, keep, jobs=1)
        env.reset(benchmark=f"{NAME}/second/src/one.c")
        observed = env.observation["IrInstructionCount"], env.observation["IrSha1"]
    measure_opensource.write(rows, folder)
    files = ["src/one.c", "src/two.cpp"]  # The third does not compile.
    table = by_path(dataset)
    assert [*table] == [f"{name}/{file}" for name in ("first", "second") for file in files]
    facts = table["second/src/one.c"]
    assert (facts.instructions, facts.ir_sha1) == observed
    assert all(each.functions == each.shared_functions == 1 for each in table.values())
    distinct = OpenSourceDatasetV1(tmp_path / "site", folder=folder)
    assert [*by_path(distinct)] == [f"first/{file}" for file in files]
    # Nothing is downloaded again.
    assert distinct.site_data_path == dataset.site_data_path
    program = distinct.benchmark(f"{distinct.name}/first/src/one.c")
    assert len(program.proto.program.contents) == facts.bitcode_bytes

    def fail(environments, program):
        raise BenchmarkInitError(program)

    monkeypatch.setattr(measure_opensource, "measure", fail)
    assert measure_opensource.measure_all(environments, folder, keep, jobs=1) == rows
