"""space_from_proto, message_to_python and ServiceMessageConverters."""

import numpy as np
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

from compiler_gym.service.proto import (
    ActionSpace,
    BooleanBox,
    BooleanRange,
    BooleanTensor,
    ByteBox,
    ByteSequenceSpace,
    ByteTensor,
    CommandlineSpace,
    DictSpace,
    DiscreteSpace,
    Event,
    FloatRange,
    Int64Box,
    Int64Range,
    Int64SequenceSpace,
    Int64Tensor,
    ListSpace,
    NamedDiscreteSpace,
    Opaque,
    Space,
    SpaceSequenceSpace,
    StringSequenceSpace,
    StringSpace,
)
from compiler_gym.service.proto.py_converters import (
    SPACE_TYPE_IDS,
    ConversionError,
    ServiceMessageConverters,
    space_from_proto,
    space_from_proto_by_kind,
)
from compiler_gym.spaces import (
    Box,
    Commandline,
    CommandlineFlag,
    Dict,
    Discrete,
    NamedDiscrete,
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
    Tuple,
)

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
ONE_TO_FIVE = Int64Range(min=1, max=5)


@pytest.mark.parametrize(
    ("message", "space"),
    [
        (Space(discrete=DiscreteSpace(n=5)), Discrete(5, "x")),
        (
            Space(named_discrete=NamedDiscreteSpace(name=["a", "b"])),
            NamedDiscrete(["a", "b"], "x"),
        ),
        (Space(boolean_value=BooleanRange(max=False)), Scalar("x", False, False, np.bool_)),
        (Space(int64_value=Int64Range()), Scalar("x", INT64_MIN, INT64_MAX, np.int64)),
        (Space(int64_value=Int64Range(min=0)), Scalar("x", 0, INT64_MAX, np.int64)),
        (Space(float_value=FloatRange(min=-1)), Scalar("x", -1, np.inf, np.float32)),
        (
            Space(string_value=StringSpace(length_range=ONE_TO_FIVE)),
            Sequence("x", (1, 5), str),
        ),
        (
            Space(byte_sequence=ByteSequenceSpace(length_range=Int64Range(min=-1, max=5))),
            Sequence("x", (0, 5), np.int8),
        ),
        (
            Space(string_sequence=StringSequenceSpace(length_range=ONE_TO_FIVE)),
            Sequence("x", (1, 5), dtype=Sequence(dtype=str)),
        ),
        (
            Space(int64_sequence=Int64SequenceSpace(scalar_range=Int64Range(min=0))),
            Sequence("x", dtype=np.int64, scalar_range=Scalar(None, 0, INT64_MAX, np.int64)),
        ),
        (
            Space(
                boolean_box=BooleanBox(
                    low=BooleanTensor(shape=[2], value=[False, True]),
                    high=BooleanTensor(shape=[2], value=[True, True]),
                )
            ),
            Box(np.array([0, 1], bool), np.array([1, 1], bool), "x", dtype=bool),
        ),
        (
            Space(
                byte_box=ByteBox(
                    low=ByteTensor(shape=[2], value=b"\x80\0"),
                    high=ByteTensor(shape=[2], value=b"\0\x7f"),
                )
            ),
            Box(np.array([-128, 0]), np.array([0, 127]), "x", dtype=np.int8),
        ),
        (
            Space(
                space_list=ListSpace(
                    space=[
                        Space(discrete=DiscreteSpace(n=2)),
                        Space(string_value=StringSpace()),
                    ]
                )
            ),
            Tuple([Discrete(2), Sequence(None, (0, None), str)], "x"),
        ),
        (
            Space(
                space_dict=DictSpace(
                    space={
                        "b": Space(discrete=DiscreteSpace(n=2)),
                        "a": Space(discrete=DiscreteSpace(n=3)),
                    }
                )
            ),
            Dict({"a": Discrete(3), "b": Discrete(2)}, "x"),
        ),
        (
            Space(
                space_union=ListSpace(
                    space=[
                        Space(discrete=DiscreteSpace(n=2)),
                        Space(float_value=FloatRange()),
                    ]
                )
            ),
            SpaceUnion([Discrete(2), Scalar(None, dtype=np.float32)], "x"),
        ),
        (
            Space(
                space_sequence=SpaceSequenceSpace(
                    length_range=ONE_TO_FIVE, space=Space(discrete=DiscreteSpace(n=2))
                )
            ),
            SpaceSequence("x", Discrete(2), (1, 5)),
        ),
    ],
    ids=lambda value: value.WhichOneof("value") if isinstance(value, Space) else "",
)
def test_kinds(message, space):
    result = space_from_proto(Space.FromString(message.SerializeToString()), "x")
    assert result == space
    assert type(result) is type(space)
    assert result.name == "x"


def test_dict_has_sorted_keys():
    message = DictSpace(space={key: Space(discrete=DiscreteSpace(n=2)) for key in "hgfedcba"})
    assert list(space_from_proto(Space(space_dict=message))) == list("abcdefgh")


def commandline_message(**fields) -> Space:
    message = AnyMessage()
    message.Pack(CommandlineSpace(**fields))
    return Space(any_value=message)


def test_commandline():
    message = commandline_message(name=["-a", "-b"], description=["one", "two"])
    space = space_from_proto(message, "flags")
    assert space == Commandline(
        [CommandlineFlag("-a", "-a", "one"), CommandlineFlag("-b", "-b", "two")], "flags"
    )
    assert space.names == space.flags == ["-a", "-b"]


def test_commandline_with_flags_and_options():
    message = commandline_message(name=["a", "b"], flag=["-a", ""], option=["", "--load=x"])
    space = space_from_proto(message, "flags")
    assert space.names == ["a", "b"]
    assert space.flags == ["-a", ""]
    assert space.options == ["", "--load=x"]
    assert space.to_string([0, 1]) == "--load=x -a"


@pytest.mark.parametrize("field", ["flag", "option", "description"])
def test_commandline_with_a_column_too_short(field):
    message = commandline_message(name=["a", "b"], **{field: ["x"]})
    with pytest.raises(ValueError, match=f"2 names but 1 {field}s"):
        space_from_proto(message, "flags")


def permutation_message(length_range=None, scalar_range=None) -> Space:
    sequence = Int64SequenceSpace(length_range=length_range, scalar_range=scalar_range)
    return Space(type_id="permutation", int64_sequence=sequence)


@pytest.mark.parametrize(
    "message",
    [
        permutation_message(Int64Range(min=2, max=3), Int64Range(min=0, max=2)),
        permutation_message(Int64Range(min=4, max=4), Int64Range(min=0, max=2)),
        permutation_message(Int64Range(min=3, max=3)),
        permutation_message(Int64Range(min=3, max=3), Int64Range(min=0)),
        permutation_message(None, Int64Range(min=0, max=2)),
        Space(type_id="permutation", discrete=DiscreteSpace(n=3)),
    ],
)
def test_malformed_permutation(message):
    with pytest.raises(ValueError, match="'x'"):
        space_from_proto(message, "x")


def test_other_type_ids(monkeypatch):
    message = Space(type_id="even", discrete=DiscreteSpace(n=4))
    with pytest.raises(ConversionError, match="no converter for spaces of type 'even'"):
        space_from_proto(message, "x")
    monkeypatch.setitem(
        SPACE_TYPE_IDS, "even", lambda message, name: Discrete(message.discrete.n // 2, name)
    )
    assert space_from_proto(message, "x") == Discrete(2, "x")
    assert space_from_proto_by_kind(message, "x") == Discrete(4, "x")
    nested = Space(space_list=ListSpace(space=[message]))
    assert space_from_proto(nested) == Tuple([Discrete(2)])


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Space(discrete=DiscreteSpace()), "Space 'x' needs a positive number of choices"),
        (Space(named_discrete=NamedDiscreteSpace()), "needs at least one name"),
        (commandline_message(), "needs at least one name"),
        (Space(int64_value=Int64Range(min=1, max=0)), "Scalar 'x' has no values"),
        (
            Space(string_value=StringSpace(length_range=Int64Range(min=2, max=1))),
            "Sequence 'x' has no values",
        ),
        (Space(space_union=ListSpace()), "Space union 'x' has no values"),
        (
            Space(
                int64_box=Int64Box(
                    low=Int64Tensor(shape=[1], value=[0]),
                    high=Int64Tensor(shape=[2], value=[0, 0]),
                )
            ),
            r"Malformed box 'x': its least values have the shape \(1,\), its greatest \(2,\)",
        ),
        (
            Space(int64_box=Int64Box(low=Int64Tensor(shape=[2], value=[0]))),
            "Malformed Int64Tensor",
        ),
    ],
)
def test_malformed(message, text):
    with pytest.raises(ValueError, match=text):
        space_from_proto(message, "x")


@pytest.mark.parametrize("error", [ConversionError, KeyError, TypeError])
def test_unsupported(error):
    with pytest.raises(error, match="'x' does not say what is in it"):
        space_from_proto(Space(), "x")
    message = AnyMessage()
    message.Pack(Opaque())
    with pytest.raises(error, match=r"no space for a 'compiler_gym\.Opaque' .*CommandlineSpace"):
        space_from_proto(Space(any_value=message), "x")


def test_service_message_converters():
    converters = ServiceMessageConverters()
    message = ActionSpace(name="x", space=Space(float_value=FloatRange(min=0, max=1)))
    space = converters.action_space_converter(message)
    assert space == Scalar("x", 0, 1, np.float32)
    assert converters.encoder_for(space)(0.5) == Event(float_value=0.5)
