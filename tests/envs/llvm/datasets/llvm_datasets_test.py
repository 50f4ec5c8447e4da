import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from compiler_gym.datasets import Benchmark, Dataset
from compiler_gym.datasets.benchmark import fingerprint_of_file
from compiler_gym.envs.llvm import LlvmEnv
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


@pytest.mark.parametrize("name", ["program.c", "a program.cc"])
def test_source_file(datasets, tmp_path, name):
    (tmp_path / name).write_text("int main() { return 0; }")
    benchmark = datasets.benchmark(f"file://{tmp_path}/{name}")
    assert str(benchmark.uri) == f"file://{tmp_path}/{name}"
    assert benchmark.proto.program.contents[:2] == b"BC"
    assert [source.filename for source in benchmark.sources] == [name]


@pytest.mark.parametrize("uri", ["file://{}/x.c", "file://{}/x.bc", "benchmark://file-v0{}/x.bc"])
def test_missing_file(datasets, tmp_path, uri):
    with pytest.raises(FileNotFoundError):
        datasets.benchmark(uri.format(tmp_path))


def test_bitcode_file_by_its_dataset(datasets, tmp_path):
    path = tmp_path / "a program.bc"
    path.write_bytes(b"as it is")
    uri = f"benchmark://file-v0{tmp_path}/a%20program.bc"
    benchmark = datasets.benchmark(uri)
    assert str(benchmark.uri) == uri
    assert benchmark.proto.program.contents == b"as it is"


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


def test_resets_to_a_file_depend_on_its_contents(tmp_path, monkeypatch):
    path = tmp_path / "program.ll"
    reads = []
    from_file = Benchmark.from_file.__func__

    def spy(cls, uri, path):
        reads.append(str(uri))
        return from_file(cls, uri, path)

    monkeypatch.setattr(Benchmark, "from_file", classmethod(spy))

    def write(text):
        path.write_text(text)
        while fingerprint_of_file(path) is None:
            time.sleep(0.01)

    write("define void @f() { ret void }")
    with LlvmEnv(benchmark=f"file://{path}") as env:
        reads.clear()
        counts = []
        for text in ("define i32 @f(i32 %x) { %y = add i32 %x, 1 ret i32 %y }", ""):
            for _ in range(3):
                env.reset(benchmark=f"file://{path}")
                counts.append(env.observation["IrInstructionCount"])
            write(text)
        assert counts == [1, 1, 1, 2, 2, 2]
        assert len(reads) == 1  # The first was read for the environment.
