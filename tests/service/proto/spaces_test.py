"""space_from_proto, space_to_proto and ServiceMessageConverters."""

import gymnasium
import numpy as np
import pytest
from google.protobuf import text_format

from compiler_gym.service.proto import Space
from compiler_gym.service.proto.py_converters import (
    SPACE_TYPE_IDS,
    ConversionError,
    space_from_proto,
    space_from_proto_by_kind,
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
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
    Tuple,
)

INT64 = np.iinfo(np.int64)
LENGTH = "length_range { min: 1 max: 5 }"
BOXES = {
    "boolean_box": "low { shape: 2 value: [false, true] } high { shape: 2 value: [true, true] }",
    "byte_box": r"low { shape: 2 value: '\x80\0' } high { shape: 2 value: '\0\x7f' }",
}


def parse(text: str) -> Space:
    """A message as it arrives."""
    return Space.FromString(text_format.Parse(text, Space()).SerializeToString())


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("discrete { n: 5 }", Discrete(5, "x")),
        ("named_discrete { name: ['a', 'b'] }", NamedDiscrete(["a", "b"], "x")),
        ("boolean_value { max: false }", Scalar("x", False, False, np.bool_)),
        ("int64_value {}", Scalar("x", INT64.min, INT64.max, np.int64)),
        ("int64_value { min: 0 }", Scalar("x", 0, INT64.max, np.int64)),
        ("float_value { min: -1 }", Scalar("x", -1, np.inf, np.float32)),
        (f"string_value {{ {LENGTH} }}", Sequence("x", (1, 5), str)),
        (
            "byte_sequence { length_range { min: -1 max: 5 } }",
            Sequence("x", (0, 5), np.int8),
        ),
        (f"string_sequence {{ {LENGTH} }}", Sequence("x", (1, 5), dtype=Sequence(dtype=str))),
        (
            "int64_sequence { scalar_range { min: 0 } }",
            Sequence("x", dtype=np.int64, scalar_range=Scalar(None, 0, INT64.max, np.int64)),
        ),
        (
            f"boolean_box {{ {BOXES['boolean_box']} }}",
            Box(np.array([0, 1], bool), np.array([1, 1], bool), "x", dtype=bool),
        ),
        (
            f"byte_box {{ {BOXES['byte_box']} }}",
            Box(np.array([-128, 0]), np.array([0, 127]), "x", dtype=np.int8),
        ),
        (
            "space_list { space { discrete { n: 2 } } space { string_value {} } }",
            Tuple([Discrete(2), Sequence(None, (0, None), str)], "x"),
        ),
        (
            "space_dict { space { key: 'b' value { discrete { n: 2 } } } "
            "space { key: 'a' value { discrete { n: 3 } } } }",
            Dict({"a": Discrete(3), "b": Discrete(2)}, "x"),
        ),
        (
            "space_union { space { discrete { n: 2 } } space { float_value {} } }",
            SpaceUnion([Discrete(2), Scalar(None, dtype=np.float32)], "x"),
        ),
        (
            f"space_sequence {{ {LENGTH} space {{ discrete {{ n: 2 }} }} }}",
            SpaceSequence("x", Discrete(2), (1, 5)),
        ),
    ],
)
def test_kinds(text, space):
    result = space_from_proto(parse(text), "x")
    assert result == space
    assert type(result) is type(space)
    assert result.name == "x"


def commandline(fields: str) -> str:
    return f"any_value {{ [type.googleapis.com/compiler_gym.CommandlineSpace] {{ {fields} }} }}"


def test_commandline():
    message = parse(commandline("name: ['-a', '-b'] description: ['one', 'two']"))
    space = space_from_proto(message, "flags")
    assert space == Commandline(
        [CommandlineFlag("-a", "-a", "one"), CommandlineFlag("-b", "-b", "two")], "flags"
    )
    message = parse(commandline("name: ['a', 'b'] flag: ['-a', ''] option: ['', '--load=x']"))
    space = space_from_proto(message, "flags")
    assert (space.names, space.flags, space.options) == (["a", "b"], ["-a", ""], ["", "--load=x"])
    assert space.to_string([0, 1]) == "--load=x -a"


PERMUTATION = "type_id: 'permutation' int64_sequence"


@pytest.mark.parametrize(
    "text",
    [
        "discrete {}",
        "named_discrete {}",
        commandline(""),
        *(commandline(f"name: ['a', 'b'] {each}: 'x'") for each in ("flag", "option")),
        commandline("name: ['a', 'b'] description: 'x'"),
        "int64_value { min: 1 max: 0 }",
        "string_value { length_range { min: 2 max: 1 } }",
        "space_union {}",
        "int64_box { low { shape: 1 value: 0 } high { shape: 2 value: [0, 0] } }",
        f"{PERMUTATION} {{ length_range {{ min: 2 max: 3 }} scalar_range {{ min: 0 max: 2 }} }}",
        f"{PERMUTATION} {{ length_range {{ min: 4 max: 4 }} scalar_range {{ min: 0 max: 2 }} }}",
        f"{PERMUTATION} {{ length_range {{ min: 3 max: 3 }} }}",
        f"{PERMUTATION} {{ length_range {{ min: 3 max: 3 }} scalar_range {{ min: 0 }} }}",
        f"{PERMUTATION} {{ scalar_range {{ min: 0 max: 2 }} }}",
        "type_id: 'permutation' discrete { n: 3 }",
    ],
)
def test_malformed(text):
    with pytest.raises(ValueError, match="'x'"):
        space_from_proto(parse(text), "x")


def test_malformed_tensor():
    with pytest.raises(ValueError, match="Int64Tensor"):
        space_from_proto(parse("int64_box { low { shape: 2 value: 0 } }"), "x")


@pytest.mark.parametrize("error", [ConversionError, KeyError, TypeError])
def test_unsupported(error):
    with pytest.raises(error, match="'x'"):
        space_from_proto(Space(), "x")
    with pytest.raises(error, match=r"compiler_gym\.Opaque"):
        space_from_proto(parse("any_value { [type.googleapis.com/compiler_gym.Opaque] {} }"), "x")


def test_other_type_ids(monkeypatch):
    message = parse("type_id: 'even' discrete { n: 4 }")
    with pytest.raises(ConversionError, match="'even'"):
        space_from_proto(message, "x")
    monkeypatch.setitem(
        SPACE_TYPE_IDS, "even", lambda message, name: Discrete(message.discrete.n // 2, name)
    )
    assert space_from_proto(message, "x") == Discrete(2, "x")
    assert space_from_proto_by_kind(message, "x") == Discrete(4, "x")
    nested = parse("space_list { space { type_id: 'even' discrete { n: 4 } } }")
    assert space_from_proto(nested) == Tuple([Discrete(2)])


@pytest.mark.parametrize(
    ("space", "expected"),
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
def test_similar_spaces(space, expected):
    arrived = Space.FromString(space_to_proto(space).SerializeToString())
    assert space_from_proto(arrived, "x") == expected


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
