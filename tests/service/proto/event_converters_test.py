"""event_to_value, value_to_event and opaque values."""

import json
from collections import OrderedDict, namedtuple

import networkx as nx
import numpy as np
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

from compiler_gym.service.proto import (
    BooleanTensor,
    ByteTensor,
    CommandlineSpace,
    DictEvent,
    DoubleTensor,
    Event,
    FloatTensor,
    Int64Tensor,
    ListEvent,
    Opaque,
    StringTensor,
)
from compiler_gym.service.proto.py_converters import (
    EVENT_TYPE_IDS,
    OPAQUE_FORMATS,
    ConversionError,
    event_to_value,
    event_to_value_by_kind,
    value_to_event,
)


def opaque_event(format: str, data: bytes) -> Event:
    message = AnyMessage()
    message.Pack(Opaque(format=format, data=data))
    return Event(any_value=message)


@pytest.mark.parametrize(
    ("event", "value"),
    [
        (
            Event(boolean_tensor=BooleanTensor(shape=[2], value=[True, False])),
            np.array([True, False]),
        ),
        (
            Event(byte_tensor=ByteTensor(shape=[4], value=b"\0a\x80\xff")),
            np.array([0, 97, -128, -1], dtype=np.int8),
        ),
        (
            Event(int64_tensor=Int64Tensor(shape=[3], value=[1, -(2**63), 2**63 - 1])),
            np.array([1, -(2**63), 2**63 - 1]),
        ),
        (
            Event(int64_tensor=Int64Tensor(shape=[2, 3], value=range(6))),
            np.arange(6).reshape(2, 3),
        ),
        (Event(int64_tensor=Int64Tensor(shape=[], value=[7])), np.array(7)),
        (Event(int64_tensor=Int64Tensor(shape=[0])), np.zeros(0, np.int64)),
        (Event(int64_tensor=Int64Tensor()), np.zeros(0, np.int64)),
        (Event(int64_tensor=Int64Tensor(shape=[2, 0])), np.zeros((2, 0), np.int64)),
        (
            Event(float_tensor=FloatTensor(shape=[2], value=[0.5, np.inf])),
            np.array([0.5, np.inf], dtype=np.float32),
        ),
        (
            Event(double_tensor=DoubleTensor(shape=[2], value=[0.1, np.nan])),
            np.array([0.1, np.nan]),
        ),
        (
            Event(string_tensor=StringTensor(shape=[2], value=["a", "long"])),
            np.array(["a", "long"], dtype=object),
        ),
        (Event(byte_tensor=ByteTensor(shape=[0])), np.zeros(0, np.int8)),
        (Event(string_tensor=StringTensor(shape=[0])), np.zeros(0, object)),
    ],
)
def test_tensors(event, value):
    result = event_to_value(Event.FromString(event.SerializeToString()))
    assert result.dtype == value.dtype
    assert result.shape == value.shape
    np.testing.assert_array_equal(result, value)
    # And back.
    np.testing.assert_equal(event_to_value(value_to_event(result)), value)


def test_arrays_are_independent_of_the_message():
    event = Event(int64_tensor=Int64Tensor(shape=[2], value=[1, 2]))
    array = event_to_value(event)
    array[0] = 5
    event.int64_tensor.value[1] = 6
    assert array.tolist() == [5, 2]
    assert list(event.int64_tensor.value) == [1, 6]


def test_bytes_are_read_only():
    array = event_to_value(Event(byte_tensor=ByteTensor(shape=[2], value=b"ab")))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    assert array.tobytes() == b"ab"


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (Int64Tensor(shape=[3], value=[1]), r"Int64Tensor: it has the shape \(3,\) but 1 values"),
        (Int64Tensor(value=[1, 2]), r"Int64Tensor: it has the shape \(\) but 2 values"),
        (ByteTensor(shape=[2, 2], value=b"abc"), r"ByteTensor: it has the shape \(2, 2\) but 3"),
    ],
)
def test_malformed_tensors(tensor, text):
    kind = "int64_tensor" if isinstance(tensor, Int64Tensor) else "byte_tensor"
    with pytest.raises(ValueError, match=f"Malformed {text}"):
        event_to_value(Event(**{kind: tensor}))


Point = namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    ("value", "event"),
    [
        (None, Event()),
        (True, Event(boolean_value=True)),
        (np.bool_(False), Event(boolean_value=False)),
        (3, Event(int64_value=3)),
        (np.int32(3), Event(int64_value=3)),
        (np.uint8(200), Event(int64_value=200)),
        (0.5, Event(double_value=0.5)),
        (np.float64(0.5), Event(double_value=0.5)),
        (np.float32(0.5), Event(float_value=0.5)),
        ("text", Event(string_value="text")),
        (np.str_("text"), Event(string_value="text")),
        (b"ab", Event(byte_tensor=ByteTensor(shape=[2], value=b"ab"))),
        (bytearray(b"ab"), Event(byte_tensor=ByteTensor(shape=[2], value=b"ab"))),
        (memoryview(b"ab"), Event(byte_tensor=ByteTensor(shape=[2], value=b"ab"))),
        (Event(int64_value=1), Event(int64_value=1)),
        ([], Event(event_list=ListEvent())),
        ([1, [True]], None),
        ((1, "a"), None),
        (Point(1, 2), None),
        ({"a": 1, "b": {"c": [0.5]}}, None),
        (OrderedDict(a=1), Event(event_dict=DictEvent(event={"a": Event(int64_value=1)}))),
    ],
)
def test_values(value, event):
    result = value_to_event(value)
    assert event is None or result == event
    expected = event_to_value(event) if event is not None else value
    expected = list(expected) if isinstance(expected, tuple) else expected
    np.testing.assert_equal(event_to_value(result), expected)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (bool, "boolean_tensor"),
        (np.int8, "byte_tensor"),
        (np.uint8, "int64_tensor"),
        (np.int32, "int64_tensor"),
        (np.int64, "int64_tensor"),
        (np.uint64, "int64_tensor"),
        (np.float16, "float_tensor"),
        (np.float32, "float_tensor"),
        (np.float64, "double_tensor"),
        (">i4", "int64_tensor"),
    ],
)
def test_arrays(dtype, kind):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    for variant in (array, array.T, array[:, ::2]):  # Also some that are not contiguous.
        event = value_to_event(variant)
        assert event.WhichOneof("value") == kind
        np.testing.assert_array_equal(event_to_value(event), variant)


@pytest.mark.parametrize("error", [ConversionError, KeyError, TypeError])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (object(), "There is no event for a value of type 'object'"),
        ({1, 2}, "There is no event for a value of type 'set'"),
        ([1, [2j]], "There is no event for a value of type 'complex'"),
        ({1: 2}, "There is no event for a dictionary with the key 1"),
        (np.array([1j]), "There is no tensor of complex128"),
        (np.array([None]), "There is no tensor of object"),
        (np.array(["2026-01-01"], dtype="datetime64"), "There is no tensor of datetime64"),
    ],
)
def test_values_without_event(value, text, error):
    with pytest.raises(error) as caught:
        value_to_event(value)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("value", [2**63, [2**63], np.array([2**63], np.uint64)])
def test_integers_that_are_too_big(value):
    with pytest.raises(ValueError):
        value_to_event(value)


def test_type_id_of_an_event(monkeypatch):
    event = Event(type_id="celsius", double_value=25)
    with pytest.raises(ConversionError, match="no converter for events of type 'celsius'"):
        event_to_value(event)
    monkeypatch.setitem(EVENT_TYPE_IDS, "celsius", lambda event: event.double_value + 273.15)
    assert event_to_value(event) == 298.15
    nested = Event(event_list=ListEvent(event=[event]))
    assert event_to_value(nested) == [298.15]
    assert event_to_value_by_kind(event) == 25


def graph_event(document) -> Event:
    return opaque_event("json://networkx/MultiDiGraph", json.dumps(document).encode())


def test_graph():
    graph = event_to_value(
        graph_event(
            {
                "directed": True,
                "multigraph": True,
                "graph": {"module": [{"name": "-"}]},
                "nodes": [{"id": 0, "text": "[external]"}, {"id": 1, "text": "ret", "type": 0}],
                "links": [
                    {"source": 0, "target": 1, "key": 0, "flow": 2},
                    {"source": 0, "target": 1, "key": 0, "flow": 1},
                    {"source": 1, "target": 0, "flow": 0},
                ],
            }
        )
    )
    assert isinstance(graph, nx.MultiDiGraph)
    assert graph.graph == {"module": [{"name": "-"}]}
    assert dict(graph.nodes(data=True)) == {
        0: {"text": "[external]"},
        1: {"text": "ret", "type": 0},
    }
    assert sorted(graph.edges(data="flow")) == [(0, 1, 1), (0, 1, 2), (1, 0, 0)]


def test_graph_of_the_library():
    graph = nx.MultiDiGraph(name="g")
    graph.add_edge("a", "b", weight=1)
    graph.add_edge("a", "b", weight=2)
    document = nx.node_link_data(graph)
    # Its versions call them by one or the other name.
    edges = document.pop("links", None) or document.pop("edges")
    for name in ("edges", "links"):
        result = event_to_value(graph_event({**document, name: edges}))
        assert nx.utils.graphs_equal(result, graph)


def test_malformed_graph():
    with pytest.raises(
        ValueError, match="Malformed node-link JSON of a graph: there is no 'nodes'"
    ):
        event_to_value(graph_event({}))


def test_other_formats(monkeypatch):
    event = opaque_event("hex://", b"ff")
    with pytest.raises(ConversionError, match="no decoder for the format 'hex://'"):
        event_to_value(event)
    monkeypatch.setitem(OPAQUE_FORMATS, "hex://", lambda data: int(data, 16))
    assert event_to_value(event) == 255


def test_other_messages_in_any_value():
    message = AnyMessage()
    message.Pack(CommandlineSpace(name=["-a"]))
    with pytest.raises(ConversionError, match=r"no value for a 'compiler_gym\.CommandlineSpace'"):
        event_to_value(Event(any_value=message))
    with pytest.raises(ConversionError):
        event_to_value(Event(any_value=AnyMessage()))
