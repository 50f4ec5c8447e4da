from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest

from compiler_gym.spaces import Discrete, Scalar, Sequence
from tests.processes import run_interpreter


class Token(NamedTuple):
    id: int


@pytest.mark.parametrize(
    ("space", "members", "others"),
    [
        (
            Sequence("s", (1, 3), dtype=str),
            ["a", "abc", "\N{EURO SIGN}"],
            ["", "abcd", "\N{EURO SIGN}x", ["a"], np.array(["a"]), b"ab", 1, None, {"a"}],
        ),
        (
            Sequence("s", (1, 3), dtype=bytes),
            [b"a", bytearray(b"abc"), memoryview(b"ab"), np.array([1], np.int8)],
            [b"", b"abcd", "a", [1], np.array([1], np.int64), np.ones((1, 1), np.int8)],
        ),
        (
            Sequence("s", (1, 3), dtype=np.int8),
            [np.array([-128, 127], np.int8), [1, 2], (3,), b"abc", np.array([100])],
            [np.array([128]), [128], [1.0], [True], np.ones((1, 1), np.int8), b"", "a", np.int8(1)],
        ),
        (
            Sequence("s", (0, 3), dtype=np.int64, scalar_range=Scalar(None, 0, 9, np.int64)),
            [[], [0, 9], np.array([5]), np.array([], np.int64), np.array([1, 2], dtype=object)],
            [
                [10],
                np.array([-1]),
                [0] * 4,
                np.array([1, "a"], dtype=object),
                np.array([1.0]),
                b"a",
            ],
        ),
        (
            Sequence("s", (0, None), dtype=float, scalar_range=Scalar(None, 0)),
            [[0.5], np.array([0, 1e300]), [np.inf], np.ones(1000)],
            [[-0.5], np.array([0, np.nan]), [1], np.array([1])],
        ),
        (
            Sequence("s", dtype=bool),
            [[True], np.array([False, True])],
            [[0], [[True], [True, False]], np.array(True), np.array([1, 0])],
        ),
        (
            Sequence("s", (2, 2), dtype=Discrete(3)),
            [[0, 2], (1, 1), np.array([0, 1])],
            [[0, 3], [0], 1],
        ),
        (
            Sequence("s", dtype=Sequence(dtype=str)),
            [["one", ""], np.array(["a"], dtype=object), []],
            ["one", [b"a"], [1], [["one"]]],
        ),
        (Sequence("s", dtype=Token), [[Token(1)], []], [[1], Token]),
        (Sequence("s", dtype=np.ndarray), [np.zeros((2, 5)), [np.zeros(3)]], [[1.0], np.zeros(3)]),
    ],
    ids=repr,
)
def test_contains(space, members, others):
    for member in members:
        assert space.contains(member), member
    for other in others:
        assert not space.contains(other), other


def test_opaque():
    json = Sequence("s", dtype=str, opaque_data_format="json://")
    assert {"a": 1} in json
    assert [1] in json
    assert "{}" not in json
    graph = Sequence("s", dtype=str, opaque_data_format="json://networkx/MultiDiGraph")
    assert nx.MultiDiGraph() in graph
    assert nx.Graph() not in graph
    assert {} not in graph
    other = Sequence("s", dtype=bytes, opaque_data_format="binary://x")
    assert b"abc" in other
    assert {} not in other


def test_graphs_are_not_imported_for_others():
    program = (
        "import sys; from compiler_gym.spaces import Sequence; "
        "space = Sequence('s', dtype=str, opaque_data_format='json://networkx/MultiDiGraph'); "
        "assert {} not in space; assert 'networkx' not in sys.modules"
    )
    run_interpreter("-c", program)
