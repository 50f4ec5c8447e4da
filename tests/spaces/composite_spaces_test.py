import numpy as np
import pytest

from compiler_gym.spaces import (
    Dict,
    Discrete,
    Permutation,
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
)


def make_space_sequence(name="x", n=3, size_range=(1, 4)):
    return SpaceSequence(name, Dict({"a": Discrete(n), "b": Scalar("b", 0, 1)}), size_range)


def make_union(name="x", n=3):
    return SpaceUnion([Discrete(n), Sequence(dtype=str), Scalar(None, 0, 1)], name)


def make_permutation(name="x", last=5):
    return Permutation(name, Scalar("r", 2, last, np.int64))


def test_space_sequence():
    space = make_space_sequence()
    assert {len(space.sample()) for _ in range(100)} == {1, 2, 3, 4}
    element = {"a": 2, "b": 0.5}
    assert [element, element] in space
    assert (element,) in space
    assert [] not in space
    assert [element] * 5 not in space
    assert [element, {"a": 3, "b": 0.5}] not in space
    assert element not in space
    assert SpaceSequence("x", Discrete(2)).size_range == (0, None)
    with pytest.raises(ValueError, match="has no values"):
        SpaceSequence("x", Discrete(2), (2, 1))
    space = SpaceSequence("x", Scalar("s"), (10, 10), seed=0)
    assert len(set(space.sample())) == 10


def test_space_union():
    space = make_union()
    assert 2 in space
    assert "text" in space
    assert 0.5 in space
    assert 3 not in space
    assert 1.5 not in space
    space.seed(0)
    kinds = {type(space.sample()) for _ in range(50)}
    assert kinds == {int, str, float}
    with pytest.raises(ValueError, match="it has no spaces"):
        SpaceUnion([], "x")


def test_permutation():
    space = make_permutation()
    assert isinstance(space, Sequence)
    assert space.size_range == (4, 4)
    assert [5, 2, 4, 3] in space
    assert (2, 3, 4, 5) in space
    assert np.array([2, 3, 5, 4]) in space
    assert [2, 3, 4] not in space
    assert [2, 2, 4, 5] not in space
    assert [2, 3, 4, 6] not in space
    assert [2.0, 3.0, 4.0, 5.0] not in space
    space.seed(0)
    assert len({tuple(space.sample()) for _ in range(500)}) == 24
    assert space.sample().dtype == np.int64
