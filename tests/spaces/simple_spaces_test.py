"""Discrete, Box, Dict and Tuple: gymnasium's spaces with names."""

import json

import gymnasium
import numpy as np
import pytest

from compiler_gym.spaces import (
    ActionSpace,
    Box,
    Commandline,
    CommandlineFlag,
    Dict,
    Discrete,
    NamedDiscrete,
    Scalar,
    Tuple,
)


def box(name="b", high=5):
    return Box(0, high, name, shape=(3,), dtype=np.int64)


def test_names_keep_spaces_from_those_of_gymnasium_apart():
    assert Discrete(4, "x") != gymnasium.spaces.Discrete(4)
    assert box() != gymnasium.spaces.Box(0, 5, shape=(3,), dtype=np.int64)


def test_samples_are_json():
    space = Dict({"b": box(), "a": Tuple([Discrete(2), box()])})
    plain = space.to_jsonable([space.sample() for _ in range(5)])
    assert json.loads(json.dumps(plain)) == space.to_jsonable(space.from_jsonable(plain))


def test_discrete():
    space = Discrete(3, "x")
    assert space.n == 3
    assert [x for x in range(-1, 5) if x in space] == [0, 1, 2]
    assert np.int64(1) in space
    assert np.array(1) in space
    assert 1.0 not in space
    assert True not in space
    assert np.bool_(True) not in space
    with pytest.raises(ValueError, match=r"'x'.*0"):
        Discrete(0, "x")


@pytest.mark.filterwarnings("error")
def test_lists_in_a_box():
    integers = Box(np.array([0, -1]), np.array([1, 9]), "x", dtype=np.int8)
    assert [1, 9] in integers
    assert (1, np.int64(9)) in integers
    assert [1, 10] not in integers
    assert [0.5, 0] not in integers
    assert [256, 0] not in integers
    assert [[1], [2, 3]] not in integers
    assert "text" not in integers
    assert None not in integers
    floats = Box(0, 1, "x", shape=(2,))
    assert [0, 0.5] in floats
    assert [0, 1.5] not in floats
    assert 0.5 in Box(0, 1, "x", shape=())
    assert [True] in Box(0, 1, "x", shape=(1,), dtype=bool)
    assert [1] not in Box(0, 1, "x", shape=(1,), dtype=bool)


def test_samples_of_unbounded_integer_box():
    greatest = np.iinfo(np.int64).max
    space = Box(np.zeros(2, np.int64), np.full(2, greatest), "x", dtype=np.int64, seed=0)
    assert space.high.tolist() == [greatest, greatest]
    assert not space.is_bounded("above")
    assert space.is_bounded("below")
    samples = np.array([space.sample() for _ in range(100)])
    assert all(sample in space for sample in samples)
    assert len(np.unique(samples)) > 2


def test_tuple():
    space = Tuple([Discrete(2), Scalar("s", 0, 1)], "x")
    assert (1, 0.5) in space
    assert (1, 5.0) not in space
    assert [1, 0.5] in space
    assert (1,) not in space
    assert np.array(1) not in space
    assert 1 not in space
    assert len(space) == 2
    assert repr(Tuple([Discrete(2)], "x")) == "Tuple([Discrete(n=2, name=None)], name='x')"


@pytest.mark.parametrize(
    "space",
    [
        Discrete(3, "x"),
        NamedDiscrete(["a", "b"], "x"),
        Commandline([CommandlineFlag("a", "-a"), CommandlineFlag("b", "-b")], "x"),
        ActionSpace(gymnasium.spaces.Discrete(5)),
        ActionSpace(Scalar("x", 0, 5, np.int64)),
    ],
    ids=lambda space: type(space).__name__,
)
def test_numbers_are_plain_integers(space):
    sample = space.sample()
    assert type(sample) is int
    assert json.loads(json.dumps(sample)) == int(repr(sample)) == sample
    if hasattr(space, "n"):
        mask = np.ones(space.n, np.int8)
        assert [type(each) for each in (space.n, space.start, space.sample(mask))] == [int] * 3
