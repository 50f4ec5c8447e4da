import copy
import pickle

import pytest

from compiler_gym.datasets import BenchmarkUri
from compiler_gym.datasets.uri import names_benchmark


@pytest.mark.parametrize(
    "text, is_one",
    [
        ("opensource-v0/lz4/lz4libs/lz4.c", True),
        ("npb-v10/1", True),
        ("npb-v0", False),
        ("npb-v0/", False),
        ("folder/program.c", False),
        ("/npb-v0/program.c", False),
        ("../npb-v0/program.c", False),
    ],
)
def test_texts_that_look_like_benchmarks(text, is_one):
    assert names_benchmark(text) == is_one


def test_all_parts():
    uri = BenchmarkUri.from_string("generator://csmith-v0/a/b?x=1&y=2&x=3#end")
    assert uri.scheme == "generator"
    assert uri.dataset == "csmith-v0"
    assert uri.path == "/a/b"
    assert uri.params == {"x": ["1", "3"], "y": ["2"]}
    assert uri.fragment == "end"
    assert uri.dataset_uri == "generator://csmith-v0"


@pytest.mark.parametrize(
    "text",
    [
        "benchmark://npb-v0",
        "benchmark://npb-v0/",
        "benchmark://cBench-v1/qsort",
        "benchmark://kernels-v0/sha256?dataset=1",
        "benchmark://user-v0/a b/c.d_e-f+g",
        "benchmark://x-v0/p?empty=#frag",
        "benchmark://clang-v0/clang%20-c%20a.c",
        "file:///tmp/a b.bc",
        "proto:///tmp/x.pb",
    ],
)
def test_round_trip(text):
    assert str(BenchmarkUri.from_string(text)) == text
    assert BenchmarkUri.canonicalize(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "://",
        "/absolute/path",
        "benchmark://",
        "benchmark:///path",
        "benchmark://two words/x",
        "benchmark://npb-v0/line\nbreak",
        "bad scheme://npb-v0",
        "file://relative/path",
        "file:///",
        "benchmark://[npb-v0/1",
    ],
)
def test_malformed(text):
    with pytest.raises(ValueError, match=r"."):
        BenchmarkUri.from_string(text)


def test_not_text():
    with pytest.raises(TypeError, match="int"):
        BenchmarkUri.from_string(3)


def test_works_as_its_text():
    uri = BenchmarkUri.from_string("benchmark://b-v0/1")
    assert uri == "benchmark://b-v0/1"
    assert uri == BenchmarkUri("benchmark", "b-v0", "/1")
    assert uri != "benchmark://b-v0/2"
    assert uri != 1
    assert {"benchmark://b-v0/1": "found"}[uri] == "found"
    assert uri.startswith("benchmark://b") and not uri.startswith("generator")
    assert uri.endswith(("/1", "/2")) and not uri.endswith("/3")
    assert sorted([uri, BenchmarkUri("benchmark", "a-v0")])[1] is uri
    assert repr(uri) == "BenchmarkUri('benchmark://b-v0/1')"


def test_copies():
    uri = BenchmarkUri.from_string("benchmark://b-v0/1?x=2#3")
    for duplicate in (pickle.loads(pickle.dumps(uri)), copy.deepcopy(uri)):
        assert duplicate == uri
        assert duplicate.params == {"x": ["2"]}
