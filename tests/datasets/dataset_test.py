import itertools

import numpy as np
import pytest

from compiler_gym.datasets import PARTS, BenchmarkUri, Dataset, Subset


class Numbers(Dataset):
    """The benchmarks /0, /1, …"""

    def __init__(self, name="benchmark://numbers-v3", count=5, **kwargs):
        super().__init__(name=name, description="Numbers", license="MIT", **kwargs)
        self.count = count

    @property
    def size(self):
        return self.count

    def benchmark_uris(self):
        return (f"{self.name}/{i}" for i in range(self.count))

    def benchmark_from_parsed_uri(self, uri):
        self._check_own(uri)
        if not 0 <= int(uri.path[1:]) < self.count:
            raise LookupError(f"No benchmark {uri}")
        return self.benchmark_class.from_file_contents(uri, b"")


def test_names():
    dataset = Numbers()
    assert dataset.name == repr(dataset) == "benchmark://numbers-v3"
    assert (dataset.scheme, dataset.version) == ("benchmark", 3)
    with pytest.deprecated_call():
        assert dataset.protocol == "benchmark"
    dataset = Numbers("plain")
    assert (dataset.name, dataset.version) == ("benchmark://plain", 0)


@pytest.mark.parametrize("name", ["", "benchmark://x-v0/path", "x-v0?a=b", "file:///x", "a b"])
def test_malformed_name(name):
    with pytest.raises(ValueError, match=r"name of a dataset|Malformed"):
        Numbers(name)


def test_site_data(tmp_path):
    dataset = Numbers()
    assert not dataset.has_site_data
    assert dataset.site_data_size_in_bytes == 0
    dataset.uninstall()
    with pytest.raises(ValueError, match="numbers-v3"):
        _ = dataset.site_data_path

    dataset = Numbers("generator://numbers-v0", site_data_base=tmp_path)
    assert dataset.has_site_data
    assert dataset.site_data_path == tmp_path / "generator" / "numbers-v0"
    assert dataset.site_data_size_in_bytes == 0
    (dataset.site_data_path / "sub").mkdir(parents=True)
    (dataset.site_data_path / "a").write_bytes(b"12345")
    (dataset.site_data_path / "sub/b").write_bytes(b"678")
    assert dataset.site_data_size_in_bytes == 8
    dataset.uninstall()
    assert not dataset.site_data_path.exists()
    dataset.uninstall()


def test_look_up():
    dataset = Numbers()
    assert dataset.benchmark("benchmark://numbers-v3/2") == "benchmark://numbers-v3/2"
    assert dataset["numbers-v3/2"] == "benchmark://numbers-v3/2"
    assert "benchmark://numbers-v3/2" in dataset
    assert "benchmark://numbers-v3/5" not in dataset
    assert "two words" not in dataset
    with pytest.raises(LookupError, match="No benchmark"):
        dataset.benchmark("benchmark://numbers-v3/5")
    with pytest.raises(LookupError, match="other-v0"):
        dataset.benchmark("benchmark://other-v0/2")
    with pytest.raises(ValueError, match="Malformed"):
        dataset.benchmark("two words")


def test_containing_does_not_install():
    class Far(Numbers):
        installed = False

        def benchmark_from_parsed_uri(self, uri):
            raise AssertionError("This would install it")

    assert "benchmark://numbers-v3/2" not in Far()


def test_dataset_without_benchmarks():
    assert Numbers(count=0)
    with pytest.raises(ValueError, match="number"):
        Numbers(count=0).random_benchmark()


def test_deprecated():
    dataset = Numbers(deprecated="use another one")
    assert dataset.deprecated
    with pytest.warns(DeprecationWarning, match="numbers-v3.*use another one"):
        dataset.install()
    with pytest.warns(DeprecationWarning, match="use another one"):
        dataset.random_benchmark()


def test_base_class_has_no_benchmarks():
    dataset = Dataset(name="x-v0", description="", license="")
    with pytest.raises(NotImplementedError, match="list"):
        list(dataset)
    with pytest.raises(NotImplementedError, match="make"):
        dataset.benchmark("x-v0/1")


def test_comparison():
    assert Numbers() == Numbers(count=1) == "benchmark://numbers-v3"
    assert Numbers() != Numbers("other-v0")
    assert sorted([Numbers("b-v0"), Numbers("a-v0"), Numbers("c-v0", sort_order=-1)]) == [
        "benchmark://c-v0",
        "benchmark://a-v0",
        "benchmark://b-v0",
    ]
    assert len({Numbers(), Numbers()}) == 1


class WithoutInit(Dataset):
    """Does not call the base class; has only what it overrides."""

    name = "benchmark://b-v0"

    def __init__(self):
        """Does nothing."""


def test_datasets_compare():
    low, high = Numbers("a-v0"), WithoutInit()
    assert low < high and low <= high and high > low and high >= low
    assert low <= Numbers("a-v0") and low >= Numbers("a-v0") and not low < Numbers("a-v0")
    assert Numbers("c-v0", sort_order=-1) <= low
    assert low < "benchmark://b-v0" and low >= "benchmark://a-v0"
    with pytest.raises(TypeError):
        assert low <= 3


class TestParts:
    def test_every_benchmark_is_in_one(self):
        dataset = Numbers(count=1000)
        parts = {part: list(dataset.benchmark_uris(part)) for part in PARTS}
        assert sorted(itertools.chain(*parts.values())) == sorted(dataset.benchmark_uris())
        shares = {part: len(uris) / 1000 for part, uris in parts.items()}
        assert shares == pytest.approx({"train": 0.7, "validation": 0.15, "test": 0.15}, abs=0.05)
        assert list(dataset.benchmark_uris(part=None)) == list(dataset.benchmark_uris())
        for part, uris in parts.items():
            assert {dataset.part_of(uri) for uri in uris} == {part}

    def test_they_are_stable(self):
        """These must never change: results of other releases would not be comparable."""
        dataset = Numbers(count=12)
        expected = ["train"] * 3 + ["validation", "test"] + ["train"] * 7
        assert [dataset.part_of(uri) for uri in dataset.benchmark_uris()] == expected
        uri = "benchmark://numbers-v3/1"
        assert dataset.part_of(BenchmarkUri.from_string(f"{uri}?dataset=3")) == expected[1]
        assert dataset.part_of("numbers-v3/1") == expected[1]

    def test_unknown_part(self):
        for method in (Numbers().benchmark_uris, Numbers().random_benchmark):
            with pytest.raises(ValueError, match=r"numbers-v3.*'dev'"):
                method(part="dev")

    def test_random_benchmark(self):
        dataset = Numbers(count=100)
        rng = np.random.default_rng(0)
        drawn = {dataset.random_benchmark(rng, part="test").uri for _ in range(30)}
        assert len(drawn) > 3
        assert {dataset.part_of(uri) for uri in drawn} == {"test"}
        with pytest.raises(ValueError, match="'test'"):
            Numbers(count=0).random_benchmark(part="test")

    def test_override_with_the_argument_is_left_alone(self):
        class Own(Numbers):
            def benchmark_uris(self, part=None):
                return iter([f"{self.name}/0"] if part == "mine" else [])

        assert list(Own().benchmark_uris("mine")) == ["benchmark://numbers-v3/0"]

    def test_override_that_calls_the_base(self):
        class Even(Numbers):
            def benchmark_uris(self):
                return (uri for uri in super().benchmark_uris() if int(uri[-1]) % 2 == 0)

        uris = [uri for part in PARTS for uri in Even().benchmark_uris(part)]
        assert sorted(uris) == list(Even().benchmark_uris())


class Packages(Numbers):
    """Ten programs of the package many, one of few. The program of number n has n bytes."""

    def benchmark_uris(self):
        yield from (f"{self.name}/many/{i}" for i in range(10))
        yield f"{self.name}/few/3"

    @property
    def size(self):
        return 11

    def benchmark_from_parsed_uri(self, uri):
        size = int(uri.path.rpartition("/")[2])
        return self.benchmark_class.from_file_contents(uri, bytes(size))


def names(benchmarks):
    return [str(each.uri).removeprefix("benchmark://numbers-v3/") for each in benchmarks]


class TestSubset:
    def test_sizes(self):
        assert names(Subset(Packages(), min_size=8)) == ["many/8", "many/9"]
        assert names(Subset(Packages(), max_size=1)) == ["many/0", "many/1"]
        chosen = Subset(Packages(), min_size=3, max_size=3)
        assert names(chosen) == ["many/3", "few/3"]
        first, again = (
            names(chosen.random_benchmark(rng) for _ in range(20))
            for rng in (np.random.default_rng(0), np.random.default_rng(0))
        )
        assert first == again
        assert {*first} == {"many/3", "few/3"}

    def test_parts(self):
        for part in PARTS:
            chosen = Subset(Numbers(count=100), part=part)
            uris = list(Numbers(count=100).benchmark_uris(part))
            assert ([*chosen.benchmark_uris()], chosen.size) == (uris, len(uris))
            assert chosen.part_of(chosen.random_benchmark().uri) == part
            assert [*chosen.benchmark_uris("train")] == (uris if part == "train" else [])

    def test_balance(self):
        chosen = Subset(Packages(), balance="package")
        assert names(chosen)[:4] == ["many/0", "few/3", "many/1", "many/2"]
        rng = np.random.default_rng(0)
        drawn = names(chosen.random_benchmark(rng) for _ in range(1000))
        assert 400 < drawn.count("few/3") < 600

    def test_balance_in_a_part(self):
        chosen = Subset(Packages(), balance="package")
        for part in PARTS:
            uris = [*chosen.benchmark_uris(part)]
            assert {*uris} == {*Packages().benchmark_uris(part)}
            drawn = {str(chosen.random_benchmark(part=part).uri) for _ in range(9 if uris else 0)}
            assert drawn <= {*uris}

    @pytest.mark.parametrize("balance", [None, "package"])
    def test_known_sizes(self, balance):
        made = []

        class Measured(Packages):
            def known_sizes(self):
                return {uri: int(uri.rpartition("/")[2]) for uri in self.benchmark_uris()}

            def benchmark_from_parsed_uri(self, uri):
                made.append(str(uri))
                return super().benchmark_from_parsed_uri(uri)

        chosen = Subset(Measured(), min_size=3, max_size=4, balance=balance)
        assert chosen.size == len(chosen) == 3
        uris = [*chosen.benchmark_uris()]
        assert {uri.split("/", 3)[3] for uri in uris} == {"many/3", "many/4", "few/3"}
        assert not made
        assert [str(each.uri) for each in chosen] == uris
        rng = np.random.default_rng(0)
        assert {str(chosen.random_benchmark(rng).uri) for _ in range(30)} == {*uris}
        assert {*made} == {*uris}
        nothing = Subset(Measured(), min_size=100, balance=balance)
        assert not nothing.size
        for ask in (nothing.random_benchmark, Subset(Packages(), min_size=100).benchmarks):
            with pytest.raises(ValueError, match=r"numbers-v3.*100"):
                ask()

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"part": "dev"}, "'dev'"),
            ({"balance": "size"}, "package.*'size'"),
            ({"min_size": 3, "max_size": 2}, "3 and 2"),
        ],
    )
    def test_mistakes(self, arguments, text):
        with pytest.raises(ValueError, match=text):
            Subset(Packages(), **arguments)
