"""Values that stand for unknown ones."""

import numpy as np
import pytest

from compiler_gym.spaces import (
    Box,
    Dict,
    Scalar,
    Sequence,
    SpaceSequence,
    Tuple,
)
from compiler_gym.spaces.conversions import neutral_value

CASES = [
    (Scalar("x"), 0.0),
    (Scalar("x", 3, 5, np.int64), 3),
    (Scalar("x", -5, -3, np.int64), -3),
    (Scalar("x", dtype=bool), False),
    (Box(-1, 1, shape=(2,)), np.zeros(2)),
    (Box(np.array([1, -9]), np.array([2, -4]), dtype=np.int64), np.array([1, -4])),
    (Sequence("x", dtype=str), ""),
    (Sequence("x", (3, 4), dtype=str), "000"),
    (Sequence("x", (2, 2), dtype=bytes), b"\0\0"),
    (Sequence("x", dtype=np.int8), np.zeros(0, np.int8)),
    (Sequence("x", (1, 2), np.int32, scalar_range=Scalar(None, 2, 3, np.int32)), np.array([2])),
    (Sequence("x", (1, 1), dtype=Sequence(dtype=str)), [""]),
    (Sequence("x", dtype=complex), []),
    (Sequence("x", opaque_data_format="json://"), {}),
    (SpaceSequence("x", Scalar("s"), (2, 3)), [0.0, 0.0]),
    (Dict({"a": Scalar("s", 1, 2), "b": Sequence(dtype=str)}), {"a": 1.0, "b": ""}),
    (Tuple([Scalar("s"), Sequence(dtype=bytes)]), (0.0, b"")),
]


@pytest.mark.parametrize(("space", "value"), CASES, ids=[str(case[0]) for case in CASES])
def test_value(space, value):
    neutral = neutral_value(space)
    assert space.contains(neutral)
    np.testing.assert_array_equal(neutral, value)
