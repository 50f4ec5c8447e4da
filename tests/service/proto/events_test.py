"""event_to_value, value_to_event, event_encoder and opaque values."""

import json

import gymnasium
import networkx as nx
import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyMessage

from compiler_gym.service.proto import Event, ListEvent, Opaque
from compiler_gym.service.proto.py_converters import (
    EVENT_TYPE_IDS,
    OPAQUE_FORMATS,
    ConversionError,
    event_encoder,
    event_to_value,
    event_to_value_by_kind,
    value_to_event,
)
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


def parse(text: str) -> Event:
    """A message as it arrives."""
    return Event.FromString(text_format.Parse(text, Event()).SerializeToString())


def opaque_event(format: str, data: bytes) -> Event:
    message = AnyMessage()
    message.Pack(Opaque(format=format, data=data))
    return Event(any_value=message)


def strings(*values: str) -> np.ndarray:
    return np.array(values, dtype=object)


def int8(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int8)


def test_arrays_are_independent_of_the_message():
    event = parse("int64_tensor { shape: 2 value: [1, 2] }")
    array = event_to_value(event)
    array[0] = 5
    event.int64_tensor.value[1] = 6
    assert array.tolist() == [5, 2]
    assert list(event.int64_tensor.value) == [1, 6]
    array = event_to_value(parse("byte_tensor { shape: 2 value: 'ab' }"))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    assert array.tobytes() == b"ab"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("int64_tensor { shape: 3 value: 1 }", r"\(3,\) but 1 "),
        ("int64_tensor { value: [1, 2] }", r"\(\) but 2 "),
        ("byte_tensor { shape: [2, 2] value: 'abc' }", r"\(2, 2\) but 3 "),
    ],
)
def test_malformed_tensors(text, match):
    with pytest.raises(ValueError, match=match):
        event_to_value(parse(text))


AB = "byte_tensor { shape: 2 value: 'ab' }"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (np.bool_(False), "boolean_value: false"),
        (np.uint8(200), "int64_value: 200"),
        (np.float32(0.5), "float_value: 0.5"),
        (bytearray(b"ab"), AB),
        (memoryview(b"ab"), AB),
        (Event(int64_value=1), "int64_value: 1"),
        ((), "event_list {}"),
        (np.array([[1, 2], [3, 4]], np.uint8).T, "int64_tensor { shape: [2, 2] value: [1,3,2,4] }"),
        (np.array([1, 2], ">i4"), "int64_tensor { shape: 2 value: [1, 2] }"),
        (np.array([0.5], np.float16), "float_tensor { shape: 1 value: 0.5 }"),
        (np.zeros((2, 0), np.int64), "int64_tensor { shape: [2, 0] }"),
    ],
)
def test_values_of_other_types(value, text):
    assert value_to_event(value) == parse(text)


def test_a_tensor_without_a_shape_is_empty():
    assert event_to_value(parse("int64_tensor {}")).shape == (0,)


@pytest.mark.parametrize("error", [ConversionError, KeyError, TypeError])
@pytest.mark.parametrize(
    ("value", "word"),
    [
        (object(), "'object'"),
        ({1, 2}, "'set'"),
        ([1, [2j]], "'complex'"),
        ({1: 2}, "key 1"),
        (np.array([1j]), "complex128"),
        (np.array([None]), "object"),
        (np.array(["2026-01-01"], dtype="datetime64"), "datetime64"),
    ],
)
def test_values_without_event(value, word, error):
    with pytest.raises(error, match=word):
        value_to_event(value)


@pytest.mark.parametrize("value", [2**63, [2**63], np.array([2**63], np.uint64)])
def test_integers_that_are_too_big(value):
    with pytest.raises(ValueError):
        value_to_event(value)


def test_type_id_of_an_event(monkeypatch):
    event = Event(type_id="celsius", double_value=25)
    with pytest.raises(ConversionError, match="'celsius'"):
        event_to_value(event)
    monkeypatch.setitem(EVENT_TYPE_IDS, "celsius", lambda event: event.double_value + 273.15)
    assert event_to_value(event) == 298.15
    nested = Event(event_list=ListEvent(event=[event]))
    assert event_to_value(nested) == [298.15]
    assert event_to_value_by_kind(event) == 25


def graph_event(document) -> Event:
    return opaque_event("json://networkx/MultiDiGraph", json.dumps(document).encode())


def test_graph():
    graph = nx.MultiDiGraph(name="g")
    graph.add_node("a", text="ret", type=0)
    graph.add_edge("a", "b", weight=1)
    graph.add_edge("a", "b", weight=2)
    document = nx.node_link_data(graph)
    # Its versions call them by one or the other name.
    edges = document.pop("links", None) or document.pop("edges")
    for name in ("edges", "links"):
        result = event_to_value(graph_event({**document, name: edges}))
        assert isinstance(result, nx.MultiDiGraph)
        assert nx.utils.graphs_equal(result, graph)
    # Edges of the same key, or without one, are edges of their own.
    edge = {"source": "a", "target": "b", "key": 0}
    edges = [{**edge, "flow": 2}, {**edge, "flow": 1}, {"source": "b", "target": "a", "flow": 0}]
    result = event_to_value(graph_event({**document, "links": edges}))
    assert sorted(result.edges(data="flow")) == [("a", "b", 1), ("a", "b", 2), ("b", "a", 0)]
    with pytest.raises(ValueError, match="'nodes'"):
        event_to_value(graph_event({}))


def test_other_formats(monkeypatch):
    event = opaque_event("hex://", b"ff")
    with pytest.raises(ConversionError, match="'hex://'"):
        event_to_value(event)
    monkeypatch.setitem(OPAQUE_FORMATS, "hex://", lambda data: int(data, 16))
    assert event_to_value(event) == 255


def test_other_messages_in_any_value():
    with pytest.raises(ConversionError, match=r"compiler_gym\.CommandlineSpace"):
        event_to_value(
            parse("any_value { [type.googleapis.com/compiler_gym.CommandlineSpace] {} }")
        )
    with pytest.raises(ConversionError):
        event_to_value(Event(any_value=AnyMessage()))


# The kind of event that belongs to a space.


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
        (Box(0, 9, shape=(1, 1)), np.array([[1]]), "float_tensor", np.array([[1]], np.float32)),
        (Box(0, 9, shape=(), dtype=np.float64), 3, "double_tensor", np.array(3.0)),
        (Box(0, 9, shape=(1,), dtype=np.int8), [3], "byte_tensor", int8(3)),
        (Box(0, 1, shape=(1,), dtype=bool), [True], "boolean_tensor", np.array([True])),
        (gymnasium.spaces.Box(0, 9, (1,), np.int64), [3], "int64_tensor", np.array([3])),
        (Sequence(dtype=str), "text", "string_value", "text"),
        (Sequence(dtype=Sequence(dtype=str)), ["a"], "string_tensor", strings("a")),
        (Sequence(dtype=Sequence(dtype=str)), [], "string_tensor", strings()),
        (Sequence(dtype=bytes), b"\xff", "byte_tensor", int8(-1)),
        (Sequence(dtype=bytes), np.array([255], np.uint8), "byte_tensor", int8(-1)),
        (Sequence(dtype=np.int8), [-1, 1], "byte_tensor", int8(-1, 1)),
        (Sequence(dtype=np.int8), b"ab", "byte_tensor", int8(97, 98)),
        (Sequence(dtype=np.uint8), [255], "byte_tensor", int8(-1)),
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
    encode = event_encoder(space)
    event = encode(value)
    assert event.WhichOneof("value") == kind
    assert encode(value) is not event
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
    for space in (gymnasium.spaces.MultiBinary(3), Tuple([gymnasium.spaces.MultiBinary(3)])):
        with pytest.raises(ConversionError, match="MultiBinary"):
            event_encoder(space)
