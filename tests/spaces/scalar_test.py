import json

import gymnasium
import numpy as np
import pytest

from compiler_gym.spaces import Scalar
from compiler_gym.spaces.common import issubdtype


def test_bounds_are_clipped_to_the_type():
    space = Scalar("x", min=0, max=np.inf, dtype=np.int64)
    assert (space.min, space.max) == (0, 2**63 - 1)
    assert Scalar("x", min=-1, max=300, dtype=np.uint8) == Scalar("x", dtype=np.uint8)


def test_contains_truth_values():
    space = Scalar("x", dtype=bool)
    assert True in space
    assert np.bool_(False) in space
    assert 1 not in space
    only = Scalar("x", min=True, dtype=bool)
    assert True in only
    assert False not in only
    assert {bool(only.sample()) for _ in range(20)} == {True}


@pytest.mark.parametrize(
    "space",
    [
        Scalar("x", min=3, max=7, dtype=np.int64),
        Scalar("x", dtype=np.int64),
        Scalar("x", min=-(2**63), max=-(2**63), dtype=np.int64),
        Scalar("x", dtype=np.uint64),
        Scalar("x", dtype=np.int8),
        Scalar("x", dtype=bool),
        Scalar("x", min=1, max=1),
        Scalar("x", min=-1.7e308, max=1.7e308),
        Scalar("x", min=3),
        Scalar("x", max=-3),
        Scalar("x"),
        Scalar("x", min=0, max=1, dtype=np.float32),
    ],
    ids=repr,
)
def test_samples_are_members(space):
    space.seed(0)
    samples = [space.sample() for _ in range(100)]
    assert all(sample in space for sample in samples)
    # Plain values, which loggers test by isinstance() and write as JSON.
    kind = {"b": bool, "i": int, "u": int, "f": float}[space.dtype.kind]
    assert {type(sample) for sample in samples} == {kind}
    assert json.loads(json.dumps(samples)) == space.from_jsonable(samples) == samples
    assert np.array(samples, dtype=space.dtype).tolist() == samples
    space.seed(0)
    assert samples == [space.sample() for _ in range(100)]


def test_is_a_box_to_gymnasium():
    for space, low in [
        (Scalar("x", 2, 5, np.int64), 2),
        (Scalar("x", dtype=np.uint64), 0),
        (Scalar("x", dtype=bool), False),
        (Scalar("x", -np.inf, 1.5, np.float32), -np.inf),
    ]:
        assert isinstance(space, gymnasium.spaces.Box)
        assert space.shape == ()
        assert space.low.dtype == space.dtype
        assert (space.low, space.high) == (low, space.max)
        flat = gymnasium.spaces.utils.flatten_space(space)
        value = space.sample()
        assert gymnasium.spaces.utils.flatten(space, value) in flat
        assert gymnasium.spaces.utils.unflatten(space, np.array([value])) == value
        plain = space.to_jsonable([value])
        assert json.loads(json.dumps(plain)) == plain == space.from_jsonable(plain)


def test_issubdtype():
    integers = [bool, int, np.int32, np.dtype(np.int8), "int64"]
    assert all(issubdtype(kind, np.integer) == (kind is not bool) for kind in integers)
    assert issubdtype(bool, int) and issubdtype(str, str) and issubdtype(dict, dict)
    others = [(np.float32, np.integer), (float, int), (str, int), (dict, int), ("odd", np.integer)]
    assert not any(issubdtype(*pair) for pair in others)
