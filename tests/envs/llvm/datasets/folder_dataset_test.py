"""The programs of a folder as a dataset."""

import pickle

import pytest

from compiler_gym.envs.llvm.datasets.folder_dataset import dataset
from compiler_gym.errors import BenchmarkInitError

ONE = "int one(int n) { return n * NUMBER; }"
TWO = "int two(int n) { int s = 0; while (n--) s += n; return s; }"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "my programs"
    (folder / "deep" / ".hidden").mkdir(parents=True)
    (folder / "one.c").write_text(ONE)
    (folder / "deep" / "two #2.cc").write_text(TWO)
    (folder / "deep" / "three.ll").write_text("define i32 @three() { ret i32 3 }")
    (folder / "deep" / ".hidden" / "four.c").write_text(TWO)
    (folder / "README.md").write_text("no program")
    return folder


NAME = "benchmark://my-programs-v0"
URIS = [f"{NAME}/one.c", f"{NAME}/deep/three.ll", f"{NAME}/deep/two %232.cc"]


def test_programs_and_uris(folder):
    programs = dataset(folder, copt=["-DNUMBER=3"])
    assert (programs.name, programs.size, [*programs.benchmark_uris()]) == (NAME, 3, URIS)
    for uri in URIS:
        benchmark = programs.benchmark(uri)
        assert str(benchmark.uri) == uri
        assert benchmark.proto.program.contents[:2] == b"BC"
    assert [source.filename for source in programs.benchmark(URIS[0]).sources] == ["one.c"]
    named = dataset(str(folder), name="benchmark://mine-v3")
    assert next(named.benchmark_uris()) == "benchmark://mine-v3/one.c"
    assert [*pickle.loads(pickle.dumps(programs)).benchmark_uris()] == URIS


def test_error_names_the_file(folder):
    with pytest.raises(BenchmarkInitError, match=r"one\.c.*NUMBER"):
        dataset(folder).benchmark(URIS[0])


@pytest.mark.parametrize("name", ["README.md", "none.c", "../x.c"])
def test_other_files_are_no_programs(folder, name):
    with pytest.raises(LookupError, match=NAME):
        dataset(folder).benchmark(f"{NAME}/{name}")


def test_folders_without_programs(tmp_path):
    with pytest.raises(NotADirectoryError, match="none"):
        dataset(tmp_path / "none")
    with pytest.raises(ValueError, match=r"end in \.bc, \.ll, \.c"):
        dataset(tmp_path)


def test_compiles_again_what_has_changed(folder):
    programs = dataset(folder, copt=["-DNUMBER=3"])
    former = programs.benchmark(URIS[0]).proto.program.contents
    (folder / "one.c").write_text(TWO)
    assert programs.benchmark(URIS[0]).proto.program.contents != former
