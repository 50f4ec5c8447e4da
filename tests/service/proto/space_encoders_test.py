"""space_to_proto."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.service.proto import Space
from compiler_gym.service.proto.py_converters import (
    ConversionError,
    space_from_proto,
    space_to_proto,
)
from compiler_gym.spaces import (
    ActionSpace,
    Box,
    Commandline,
    CommandlineFlag,
    DefaultRewardFromObservation,
    Dict,
    Discrete,
    NamedDiscrete,
    Permutation,
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
    Tuple,
)

INT64 = np.iinfo(np.int64)

SPACES = [
    Discrete(5, "x"),
    NamedDiscrete(["b", "a"], "x"),
    Commandline(
        [CommandlineFlag("a", "-a", "First", "-load=a"), CommandlineFlag("b", "", "Second")], "x"
    ),
    *(Scalar("x", dtype=dtype) for dtype in (np.bool_, np.int64, np.float32, np.float64)),
    Scalar("x", 0, None, np.int64),
    Scalar("x", None, 7, np.int64),
    Scalar("x", 0.5, 1.5, np.float32),
    Scalar("x", True, True, np.bool_),
    Sequence("x", (1, 5), str),
    Sequence("x", (0, None), bytes),
    *(Sequence("x", (2, None), dtype) for dtype in (np.bool_, np.int8, np.int64, np.float32)),
    Sequence("x", (0, 9), np.float64, scalar_range=Scalar(None, 0, 1)),
    Sequence("x", (0, 9), np.int8, scalar_range=Scalar(None, 0, None, np.int8)),
    Sequence("x", (0, 9), np.int64, scalar_range=Scalar(None, None, 3, np.int64)),
    Sequence("x", dtype=Sequence(dtype=str)),
    SpaceSequence("x", Discrete(3), (1, 4)),
    SpaceSequence("x", Dict({"a": Discrete(3)})),
    SpaceUnion([Discrete(3), Sequence(dtype=str)], "x"),
    Permutation("x", Scalar(None, 3, 7, np.int64)),
    Box(0, INT64.max, "x", (3, 2), np.int64),
    Box(np.array([0, -1], np.int8), np.array([4, 5], np.int8), "x", dtype=np.int8),
    Box(-np.inf, 1, "x", (2,), np.float64),
    Dict({"a": Discrete(2), "b": Tuple([Scalar(min=0), Box(0, 1, shape=(1,))])}, "x"),
    Tuple([], "x"),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_round_trip(space):
    message = space_to_proto(space)
    # As it arrives.
    arrived = Space.FromString(message.SerializeToString())
    assert space_from_proto(arrived, "x") == space


@pytest.mark.parametrize(
    "space, expected",
    [
        (ActionSpace(Discrete(2, "x")), Discrete(2, "x")),
        (gymnasium.spaces.Discrete(2), Discrete(2, "x")),
        (
            gymnasium.spaces.Dict({"a": gymnasium.spaces.Box(0, 1, (1,))}),
            Dict({"a": Box(0, 1, shape=(1,))}, "x"),
        ),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)]), Tuple([Discrete(2)], "x")),
        (DefaultRewardFromObservation("x"), Scalar("x")),
        (Scalar("x", dtype=np.int8), Scalar("x", -128, 127, np.int64)),
        (Scalar("x", dtype=np.uint8), Scalar("x", 0, 255, np.int64)),
        (
            Sequence("x", dtype=np.int16),
            Sequence("x", dtype=np.int64, scalar_range=Scalar(None, -(2**15), 2**15 - 1, np.int64)),
        ),
        (Sequence("x", dtype=Discrete(3)), SpaceSequence("x", Discrete(3))),
    ],
    ids=str,
)
def test_similar(space, expected):
    assert space_from_proto(space_to_proto(space), "x") == expected


@pytest.mark.parametrize(
    "space",
    [
        gymnasium.spaces.Discrete(2, start=1),
        gymnasium.spaces.MultiBinary(3),
        Scalar(dtype=np.uint64),
        Sequence(dtype=dict),
        Sequence(dtype=bytes, opaque_data_format="json://"),
        Tuple([Sequence(dtype=dict)]),
    ],
    ids=str,
)
def test_no_description(space):
    with pytest.raises(ConversionError):
        space_to_proto(space)
