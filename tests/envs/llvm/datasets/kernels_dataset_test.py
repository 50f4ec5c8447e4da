import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from compiler_gym.datasets import PARTS
from compiler_gym.datasets.parts import TEST_KERNELS, VALIDATION_KERNELS
from compiler_gym.envs.llvm.datasets import kernels_dataset
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH, KernelsDataset
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.util import llvm_tools

PROGRAM = "#include <stdio.h>\nint main(void) { putchar(getchar()); return 0; }\n"


@pytest.fixture
def kernels(tmp_path):
    """Two programs: one that copies a character, one that does not compile."""
    folder = tmp_path / "kernels"
    for name, program in (("copy", PROGRAM), ("broken", "int main(")):
        (folder / name).mkdir(parents=True)
        (folder / name / "program.c").write_text(program)
        for number in range(2):
            (folder / name / f"input-{number}.txt").write_text(f"{number}")
            (folder / name / f"expected-{number}.txt").write_text(f"{number}")
    (folder / "not-a-kernel").mkdir()
    return folder


@pytest.fixture
def dataset(kernels, tmp_path):
    return KernelsDataset(tmp_path / "site", kernels_path=kernels)


def files_of(dataset):
    return sorted(path.name for path in dataset.site_data_path.iterdir())


@pytest.mark.parametrize(("query", "number"), [("", 0), ("?dataset=0", 0), ("?dataset=1", 1)])
def test_benchmark(dataset, kernels, query, number):
    benchmark = dataset.benchmark(f"benchmark://kernels-v0/copy{query}")
    assert str(benchmark.uri) == f"benchmark://kernels-v0/copy{query}"
    assert benchmark.proto.program.contents[:2] == b"BC"
    assert benchmark.source == PROGRAM
    assert benchmark.is_validatable()
    config = benchmark.proto.dynamic_config
    assert "-disable-llvm-passes" in config.build_cmd.argument
    stdin = str(kernels / "copy" / f"input-{number}.txt")
    assert " ".join(config.run_cmd.argument) == f"./a.out < {stdin} > output.txt"
    assert list(config.run_cmd.infile) == [stdin]
    assert list(config.run_cmd.outfile) == ["output.txt"]
    assert config.build_cmd.timeout_seconds == config.run_cmd.timeout_seconds == 60


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?dataset=2", "must be one number from 0 to 1"),
        ("?dataset=-1", "must be one number"),
        ("?dataset=x", "must be one number"),
        ("?dataset=0&dataset=1", "must be one number"),
        ("?datset=1", "Unknown parameter 'datset'"),
    ],
)
def test_bad_parameters(dataset, query, message):
    with pytest.raises(ValueError, match=message):
        dataset.benchmark(f"benchmark://kernels-v0/copy{query}")


def test_containing_does_not_compile(dataset):
    assert "benchmark://kernels-v0/copy" in dataset
    assert "benchmark://kernels-v0/broken?dataset=1" in dataset
    assert "benchmark://kernels-v0/copy?dataset=2" not in dataset
    assert "benchmark://kernels-v0/not-a-kernel" not in dataset
    assert not dataset.site_data_path.exists()


def test_changed_program_is_compiled_again(dataset, kernels):
    first = dataset.benchmark("benchmark://kernels-v0/copy")
    (kernels / "copy" / "program.c").write_text("int main(void) { return 0; }")
    second = dataset.benchmark("benchmark://kernels-v0/copy")
    assert second.proto.program.contents != first.proto.program.contents
    assert len(files_of(dataset)) == 2


def test_program_is_compiled_again_by_another_clang(dataset, tmp_path, monkeypatch):
    dataset.benchmark("benchmark://kernels-v0/copy")
    clang = tmp_path / "llvm" / "bin" / "clang"
    clang.parent.mkdir(parents=True)
    clang.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo other && exit 0\n'
        f'exec {llvm_tools.clang_path()} "$@"\n'
    )
    clang.chmod(0o700)
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path / "llvm"))
    dataset.benchmark("benchmark://kernels-v0/copy")
    assert len(files_of(dataset)) == 2


def test_no_clang(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path / "none"))
    with pytest.raises(EnvironmentNotSupported, match="COMPILER_GYM_LLVM"):
        dataset.benchmark("benchmark://kernels-v0/copy")


def test_built_in_programs_need_no_clang(tmp_path, monkeypatch):
    """The build has made of them what clang makes, byte for byte."""
    if not (KERNELS_PATH / "sha256" / "program.bc").is_file():
        pytest.skip("The bitcode has not been built")
    names = ["fft", "markdown", "sha256"]
    for name in names:
        (tmp_path / name).mkdir()
        shutil.copyfile(KERNELS_PATH / name / "program.c", tmp_path / name / "program.c")
    compiled = KernelsDataset(tmp_path / "site", kernels_path=tmp_path)
    uris = [f"benchmark://kernels-v0/{name}" for name in names]
    expected = [compiled.benchmark(uri).proto.program.contents for uri in uris]
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path / "none"))
    built = KernelsDataset(tmp_path / "other")
    assert [built.benchmark(uri).proto.program.contents for uri in uris] == expected
    assert not built.site_data_path.exists()
    assert all(path.with_suffix(".bc").is_file() for path in KERNELS_PATH.glob("*/program.c"))


def test_concurrent_first_use(dataset):
    with ThreadPoolExecutor(8) as pool:
        uris = ["benchmark://kernels-v0/copy"] * 16
        programs = {b.proto.program.contents for b in pool.map(dataset.benchmark, uris)}
    assert len(programs) == 1
    assert len(files_of(dataset)) == 1


def test_compilation_timeout(dataset, monkeypatch):
    monkeypatch.setattr(kernels_dataset, "_COMPILE_TIMEOUT_SECONDS", 1e-6)
    with pytest.raises(BenchmarkInitError, match="took more than"):
        dataset.benchmark("benchmark://kernels-v0/copy")
    assert files_of(dataset) == []


KERNELS = sorted(path.name for path in KERNELS_PATH.iterdir() if (path / "program.c").exists())


@pytest.mark.parametrize("name", KERNELS)
def test_built_in_programs_are_complete(name):
    files = {
        "program.bc",
        "program.c",
        "input-0.txt",
        "expected-0.txt",
        "input-1.txt",
        "expected-1.txt",
    }
    assert set(os.listdir(KERNELS_PATH / name)) == files


def test_parts(tmp_path):
    """Every fourth is for tests, and the one before it for validation."""
    dataset = KernelsDataset(tmp_path)
    names = [uri.rpartition("/")[2] for uri in dataset.benchmark_uris()]
    parts = {
        part: [uri.rpartition("/")[2] for uri in dataset.benchmark_uris(part)] for part in PARTS
    }
    assert parts["test"] == names[3::4] == list(TEST_KERNELS)
    assert parts["validation"] == names[2::4] == list(VALIDATION_KERNELS)
    assert sorted(parts["train"]) == sorted([*names[::4], *names[1::4]])
    assert dataset.part_of("benchmark://kernels-v0/sha256?dataset=1") == "test"
