import numpy as np
import pytest

from compiler_gym.datasets import FilesDataset
from compiler_gym.errors import BenchmarkInitError, DatasetInitError


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    for name in ("b.bc", "a.bc", "a.txt", "z/1.bc", "m/n/2.bc", ".hidden.bc", ".git/3.bc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    (tmp_path / "outside.bc").write_bytes(b"secret")
    return root


def make(root, **kwargs):
    options = {"benchmark_file_suffix": ".bc", **kwargs}
    return FilesDataset(
        name="benchmark://mine-v0",
        description="My files",
        license="MIT",
        dataset_root=root,
        **options,
    )


URIS = [f"benchmark://mine-v0/{name}" for name in ("a", "b", "m/n/2", "z/1")]


@pytest.mark.parametrize("memoize_uris", [True, False])
def test_listing(root, memoize_uris):
    dataset = make(root, memoize_uris=memoize_uris)
    assert dataset.installed
    assert dataset.size == 4
    assert list(dataset.benchmark_uris()) == URIS
    assert list(dataset.benchmark_uris()) == URIS
    assert list(dataset) == URIS
    (root / "c.bc").write_bytes(b"")
    assert dataset.size == (4 if memoize_uris else 5)


@pytest.mark.parametrize(
    "path", ["", "/", "/c", "/m", "/../outside", "/m/../../outside", "/%2e%2e/outside"]
)
def test_unknown_benchmark(root, path):
    with pytest.raises(LookupError, match="mine-v0"):
        make(root).benchmark(f"benchmark://mine-v0{path}")


def test_containing(root):
    dataset = make(root)
    assert all(uri in dataset for uri in URIS)
    assert "mine-v0/a?x=1" in dataset
    for path in ("", "/", "/c", "/m", "/../outside", f"/{root.parent}/outside"):
        assert f"benchmark://mine-v0{path}" not in dataset
    assert "benchmark://mine-v0/a" not in make(root / "missing")


def test_unusual_names(root):
    names = ["100% sure?#1", "ä ö", "a&b=c", "new\nline"]
    for name in names:
        (root / f"{name}.bc").write_bytes(name.encode())
    dataset = make(root)
    contents = {benchmark.proto.program.contents.decode() for benchmark in dataset}
    assert contents >= set(names)
    assert all(dataset[uri] == uri for uri in dataset.benchmark_uris())
    assert dataset["mine-v0/ä ö"].proto.program.contents.decode() == "ä ö"


def test_random_benchmark(root):
    dataset = make(root)
    draws = [dataset.random_benchmark(np.random.default_rng(i)) for i in range(50)]
    assert draws == [dataset.random_benchmark(np.random.default_rng(i)) for i in range(50)]
    assert set(draws) == set(URIS)


def test_empty_directory(tmp_path):
    dataset = make(tmp_path)
    assert dataset.size == 0
    with pytest.raises(ValueError, match=r"mine-v0.*\*.bc"):
        dataset.random_benchmark()


def test_missing_directory(tmp_path):
    dataset = make(tmp_path / "missing")
    assert not dataset.installed
    assert dataset.size == 0
    for use in (
        dataset.install,
        dataset.random_benchmark,
        lambda: list(dataset),
        lambda: dataset["mine-v0/a"],
    ):
        with pytest.raises(DatasetInitError, match="missing"):
            use()


class Compiler:
    """Writes the upper-case text of the source, and counts its runs."""

    def __init__(self):
        self.runs = 0

    def __call__(self, source, output):
        self.runs += 1
        text = source.read_text()
        if "error" in text:
            raise BenchmarkInitError(f"{source}: does not compile")
        if "nothing" not in text:
            output.write_text(text.upper())


@pytest.mark.parametrize(
    "text, message", [("error", "does not compile"), ("nothing", "wrote no output")]
)
def test_source_does_not_compile(root, text, message):
    (root / "p.c").write_text(text)
    dataset = make(root, benchmark_file_suffix=".c", compiler=Compiler())
    with pytest.raises(BenchmarkInitError, match=message):
        dataset.benchmark("mine-v0/p")


def test_named_programs(root):
    dataset = make(root, programs={"two": "m/n/2.bc", "one": "z/1.bc", "gone": "gone.bc"})
    assert dataset.size == 3
    assert list(dataset.benchmark_uris()) == [
        "benchmark://mine-v0/gone",
        "benchmark://mine-v0/one",
        "benchmark://mine-v0/two",
    ]
    assert dataset["mine-v0/two"].proto.program.contents == b"m/n/2.bc"
    for name in ("a", "gone"):
        with pytest.raises(LookupError, match="no benchmark"):
            dataset.benchmark(f"mine-v0/{name}")
