"""Conversions by the names of former releases, as programs written for these call them."""

import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyMessage

from compiler_gym.service import proto
from compiler_gym.service.proto import (
    DiscreteSpace,
    Event,
    NamedDiscreteSpace,
    Space,
    py_converters,
)
from compiler_gym.service.proto.py_converters import (
    TypeBasedConverter,
    TypeIdDispatchConverter,
    make_message_default_converter,
    to_event_message_default_converter,
    to_space_message_default_converter,
)
from compiler_gym.spaces import (
    Box,
    Commandline,
    CommandlineFlag,
    Dict,
    Discrete,
    NamedDiscrete,
    Permutation,
    Scalar,
    Sequence,
    Tuple,
)


def test_by_type():
    converter = TypeBasedConverter({int: lambda value: value + 1, str: str.upper})
    assert (converter(1), converter("a")) == (2, "A")


def test_type_id_dispatch():
    converter = TypeIdDispatchConverter(
        default_converter=py_converters.event_to_value,
        conversion_map={"twice": lambda event: 2 * event.int64_value},
    )
    assert converter(Event(int64_value=3)) == 3
    assert converter(Event(int64_value=3, type_id="twice")) == 6
    with pytest.raises(KeyError, match="'thrice'"):
        converter(Event(int64_value=3, type_id="thrice"))


def packed(message) -> AnyMessage:
    result = AnyMessage()
    result.Pack(message)
    return result


OPAQUE = "format: 'json://' data: '[1]'"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("Event", "int64_value: 1", 1),
        ("ListEvent", "event { string_value: 'a' }", ["a"]),
        ("DictEvent", "event { key: 'a' value { boolean_value: true } }", {"a": True}),
        ("Opaque", OPAQUE, [1]),
        ("Space", "discrete { n: 2 }", Discrete(2)),
        ("ListSpace", "space { discrete { n: 2 } }", Tuple([Discrete(2)])),
        (
            "DictSpace",
            "space { key: 'a' value { discrete { n: 2 } } }",
            Dict({"a": Discrete(2)}),
        ),
        ("ActionSpace", "name: 'x' space { discrete { n: 2 } }", Discrete(2, name="x")),
        ("ObservationSpace", "name: 'x' space { double_value { min: 0 } }", Scalar("x", min=0)),
    ],
)
def test_message_default_converter(kind, text, expected):
    value = make_message_default_converter()(text_format.Parse(text, getattr(proto, kind)()))
    assert value == expected
    assert type(value) is type(expected)


def test_packed_messages():
    convert = make_message_default_converter()
    assert convert(packed(text_format.Parse(OPAQUE, proto.Opaque()))) == [1]
    flags = Commandline([CommandlineFlag("a", "a")])
    assert convert(packed(proto.CommandlineSpace(name=["a"]))) == flags


def test_something_else():
    for value in (packed(DiscreteSpace(n=2)), object()):
        with pytest.raises(KeyError):
            make_message_default_converter()(value)
    with pytest.raises(KeyError):
        to_event_message_default_converter()(object())


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("convert_numpy_to_boolean_tensor_message", np.array([[True], [False]])),
        ("convert_numpy_to_byte_tensor_message", np.array([1, -2], dtype=np.int8)),
        ("convert_numpy_to_int64_tensor_message", np.array([[1, 2, 3]])),
        ("convert_numpy_to_float_tensor_message", np.array([1.5], dtype=np.float32)),
        ("convert_numpy_to_double_tensor_message", np.array([1.5])),
        ("convert_numpy_to_string_tensor_message", np.array(["a", "bc"], dtype=object)),
    ],
)
def test_tensors(name, array):
    message = getattr(py_converters, name)(array)
    assert type(message).__name__.lower() == name.split("_")[3] + "tensor"
    assert tuple(message.shape) == array.shape
    for convert in (
        py_converters.convert_standard_tensor_message_to_numpy,
        make_message_default_converter(),
    ):
        back = convert(message)
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


def test_bytes():
    message = proto.ByteTensor(shape=[2], value=b"\x01\xff")
    array = py_converters.convert_byte_tensor_message_to_numpy(message)
    assert array.dtype == np.int8
    assert array.tolist() == [1, -1]
    assert py_converters.convert_bytes_to_numpy(b"\x01\xff").tolist() == [1, -1]


def test_wrong_dtype():
    with pytest.raises(KeyError, match="int64_tensor"):
        py_converters.convert_numpy_to_int64_tensor_message(np.zeros(2))


SPACES = {
    "convert_to_boolean_range_message": Scalar(min=True, dtype=bool),
    "convert_to_int64_range_message": Scalar(min=1, max=2, dtype=np.int64),
    "convert_to_float_range_message": Scalar(max=0.5, dtype=np.float32),
    "convert_to_double_range_message": Scalar(min=0.5),
    "convert_to_boolean_box_message": Box(0, 1, shape=(2,), dtype=np.bool_),
    "convert_to_byte_box_message": Box(-1, 1, shape=(2,), dtype=np.int8),
    "convert_to_int64_box_message": Box(0, 9, shape=(2, 2), dtype=np.int64),
    "convert_to_float_box_message": Box(0, 1, shape=(1,), dtype=np.float32),
    "convert_to_double_box_message": Box(0, np.inf, shape=(1,), dtype=np.float64),
    "convert_to_discrete_space_message": Discrete(3),
    "convert_to_named_discrete_space_message": NamedDiscrete(["a", "b"]),
    "convert_to_commandline_space_message": Commandline([CommandlineFlag("a", "-a", "The first")]),
    "convert_to_permutation_space_message": Permutation(None, Scalar(min=0, max=4, dtype=np.int64)),
    "convert_to_string_space": Sequence(dtype=str, size_range=(1, 5)),
    "convert_to_boolean_sequence_space": Sequence(dtype=bool),
    "convert_to_byte_sequence_space": Sequence(dtype=np.int8, size_range=(0, 8)),
    "convert_to_bytes_sequence_space": Sequence(dtype=bytes),
    "convert_to_int64_sequence_space": Sequence(
        dtype=np.int64, scalar_range=Scalar(min=0, max=3, dtype=np.int64)
    ),
    "convert_to_float_sequence_space": Sequence(dtype=np.float32),
    "convert_to_double_sequence_space": Sequence(dtype=np.float64, scalar_range=Scalar(min=0)),
    "convert_to_string_sequence_space": Sequence(dtype=Sequence(dtype=str)),
}


@pytest.mark.parametrize("name", SPACES)
def test_space_to_message_and_back(name):
    space = SPACES[name]
    message = getattr(py_converters, name)(space)
    if name == "convert_to_commandline_space_message":
        back = py_converters.convert_commandline_space_message(message)
    elif name == "convert_to_permutation_space_message":
        assert message.type_id == "permutation"
        message.ClearField("type_id")
        back = py_converters.convert_permutation_space_message(message)
    else:
        back = make_message_default_converter()(message)
    assert back == space
    wrong = Sequence(dtype=str) if name == "convert_to_discrete_space_message" else Discrete(2)
    with pytest.raises(KeyError):
        getattr(py_converters, name)(wrong)


def test_messages_to_spaces_by_name():
    box = text_format.Parse(
        "low { shape: 1 value: 0 } high { shape: 1 value: 1 }", proto.Int64Box()
    )
    for name, message, space in (
        ("convert_discrete_space_message", DiscreteSpace(n=2), Discrete(2)),
        (
            "convert_named_discrete_space_message",
            NamedDiscreteSpace(name=["a"]),
            NamedDiscrete(["a"]),
        ),
        ("convert_range_message", proto.DoubleRange(min=1), Scalar(min=1)),
        ("convert_sequence_space", proto.Int64SequenceSpace(), Sequence(dtype=np.int64)),
        ("convert_box_message", box, Box(0, 1, shape=(1,), dtype=np.int64)),
    ):
        assert getattr(py_converters, name)(message) == space


def test_message_default_converter_knows_plain_values():
    for value in (True, 3, 0.5, "text"):
        assert py_converters.message_default_converter(value) is value
        assert py_converters.convert_trivial(value) is value


def test_event_message_converters():
    inner = make_message_default_converter()
    inner.conversion_map[int] = lambda value: -value
    decode = py_converters.EventMessageDefaultConverter(inner)
    assert decode(Event(int64_value=3)) == -3
    assert decode(Event()) is None
    encode = py_converters.ToEventMessageConverter(py_converters.NumpyToTensorMessageConverter())
    event = encode(np.arange(2))
    assert event.WhichOneof("value") == "int64_tensor"
    assert decode(event).tolist() == [0, 1]
    assert py_converters.ToEventMessageConverter(py_converters.value_to_event)(5).int64_value == 5
    with pytest.raises(KeyError, match="DiscreteSpace"):
        py_converters.ToEventMessageConverter(lambda value: DiscreteSpace(n=value))(3)


def test_space_message_converters():
    inner = make_message_default_converter()
    inner.conversion_map[DiscreteSpace] = lambda message: Discrete(message.n + 1)
    decode = py_converters.SpaceMessageDefaultConverter(inner)
    encode = py_converters.ToSpaceMessageConverter(py_converters.convert_to_discrete_space_message)
    assert decode(encode(Discrete(3))) == Discrete(4)
    whole = py_converters.ToSpaceMessageConverter(to_space_message_default_converter())
    assert whole(Discrete(3)) == encode(Discrete(3))
    with pytest.raises(KeyError):
        decode(Space())


def test_any_converters():
    message = AnyMessage()
    message.Pack(DiscreteSpace(n=2))
    unpack = py_converters.ProtobufAnyUnpacker()
    assert unpack(message) == DiscreteSpace(n=2)
    convert = py_converters.ProtobufAnyConverter(unpack, make_message_default_converter())
    assert convert(message) == Discrete(2)
    own = py_converters.ProtobufAnyUnpacker({Event.DESCRIPTOR.full_name: Event})
    with pytest.raises(KeyError, match=r"Event.*DiscreteSpace"):
        own(message)
