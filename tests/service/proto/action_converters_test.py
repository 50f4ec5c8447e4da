"""event_encoder: the kind of event that belongs to a space."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.service.proto import Event
from compiler_gym.service.proto.py_converters import ConversionError, event_encoder, event_to_value
from compiler_gym.spaces import (
    ActionSpace,
    Box,
    Commandline,
    CommandlineFlag,
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


@pytest.mark.parametrize(
    ("space", "value", "kind", "decoded"),
    [
        (Discrete(5), 3, "int64_value", 3),
        (Discrete(5), np.int32(3), "int64_value", 3),
        (gymnasium.spaces.Discrete(5), np.int64(3), "int64_value", 3),
        (NamedDiscrete(["a", "b"]), 1, "int64_value", 1),
        (Commandline([CommandlineFlag("a", "-a")]), 0, "int64_value", 0),
        (ActionSpace(NamedDiscrete(["a", "b"])), 1, "int64_value", 1),
        (Scalar(dtype=bool), True, "boolean_value", True),
        (Scalar(dtype=bool), np.bool_(False), "boolean_value", False),
        (Scalar(dtype=np.int64), np.int8(-3), "int64_value", -3),
        (Scalar(dtype=np.float32), 0.5, "float_value", 0.5),
        (Scalar(dtype=np.float64), np.float32(0.5), "double_value", 0.5),
        (Box(0, 9, shape=(2,), dtype=np.int64), [1, 2], "int64_tensor", np.array([1, 2])),
        (
            Box(0, 9, shape=(1, 2)),
            np.array([[1, 2]]),
            "float_tensor",
            np.array([[1, 2]], np.float32),
        ),
        (Box(0, 9, shape=(), dtype=np.float64), 3, "double_tensor", np.array(3.0)),
        (Box(0, 9, shape=(1,), dtype=np.int8), [3], "byte_tensor", np.array([3], np.int8)),
        (Box(0, 1, shape=(1,), dtype=bool), [True], "boolean_tensor", np.array([True])),
        (
            gymnasium.spaces.Box(0, 9, shape=(1,), dtype=np.int64),
            np.array([3]),
            "int64_tensor",
            np.array([3]),
        ),
        (Sequence(dtype=str), "text", "string_value", "text"),
        (Sequence(dtype=Sequence(dtype=str)), ["a"], "string_tensor", np.array(["a"], object)),
        (Sequence(dtype=Sequence(dtype=str)), [], "string_tensor", np.array([], object)),
        (Sequence(dtype=bytes), b"\xff", "byte_tensor", np.array([-1], np.int8)),
        (
            Sequence(dtype=bytes),
            np.array([255], np.uint8),
            "byte_tensor",
            np.array([-1], np.int8),
        ),
        (Sequence(dtype=np.int8), [-1, 1], "byte_tensor", np.array([-1, 1], np.int8)),
        (Sequence(dtype=np.int8), b"ab", "byte_tensor", np.array([97, 98], np.int8)),
        (Sequence(dtype=np.uint8), [255], "byte_tensor", np.array([-1], np.int8)),
        (Sequence(dtype=np.int64), (1, 2), "int64_tensor", np.array([1, 2])),
        (Sequence(dtype=np.int64), [], "int64_tensor", np.array([], np.int64)),
        (Sequence(dtype=float), [0.5], "double_tensor", np.array([0.5])),
        (Sequence(dtype=bool), [True], "boolean_tensor", np.array([True])),
        (Sequence(dtype=Discrete(3)), [1, 2], "event_list", [1, 2]),
        (Sequence(dtype=dict), [{"a": 1}], "event_list", [{"a": 1}]),
        (Permutation("p", Scalar(None, 0, 2, int)), [2, 0, 1], "int64_tensor", np.array([2, 0, 1])),
        (SpaceSequence("s", Discrete(3)), [1, 2], "event_list", [1, 2]),
        (Tuple([Discrete(3), Scalar()]), (1, 0.5), "event_list", [1, 0.5]),
        (
            Dict({"a": Scalar(dtype=np.float32), "b": Tuple([Discrete(2)])}),
            {"b": (1,), "a": 0.5},
            "event_dict",
            {"a": 0.5, "b": [1]},
        ),
        (SpaceUnion([Discrete(3), Scalar(dtype=np.float32)]), 0.5, "float_value", 0.5),
        (SpaceUnion([Discrete(3), Scalar(dtype=np.float32)]), 2, "int64_value", 2),
    ],
    ids=repr,
)
def test_encoding(space, value, kind, decoded):
    event = event_encoder(space)(value)
    assert event.WhichOneof("value") == kind
    result = event_to_value(event)
    np.testing.assert_equal(result, decoded)
    assert type(result) is type(decoded)
    assert getattr(result, "dtype", None) == getattr(decoded, "dtype", None)


@pytest.mark.parametrize(
    ("space", "value", "error"),
    [
        (Discrete(5), "1", TypeError),
        (Discrete(5), 1.0, TypeError),
        (Discrete(5), None, TypeError),
        (Scalar(dtype=np.int64), 1.5, TypeError),
        (Scalar(dtype=np.int64), 2**63, ValueError),
        (Sequence(dtype=np.int64), ["a"], ValueError),
        (Sequence(dtype=str), ["a"], TypeError),
        (Sequence(dtype=Sequence(dtype=str)), [1], TypeError),
        (Tuple([Discrete(3), Discrete(3)]), (1,), ValueError),
        (Dict({"a": Discrete(3)}), {"b": 1}, ValueError),
        (SpaceUnion([Discrete(3)]), 3, ValueError),
    ],
    ids=repr,
)
def test_values_that_do_not_fit(space, value, error):
    with pytest.raises(error):
        event_encoder(space)(value)


def test_spaces_without_events():
    with pytest.raises(ConversionError, match="no kind of event for values of MultiBinary"):
        event_encoder(gymnasium.spaces.MultiBinary(3))
    with pytest.raises(ConversionError):
        event_encoder(Tuple([gymnasium.spaces.MultiBinary(3)]))


def test_messages_are_independent():
    encode = event_encoder(Discrete(5))
    first, second = encode(1), encode(2)
    assert (first, second) == (Event(int64_value=1), Event(int64_value=2))
