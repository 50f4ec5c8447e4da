"""Conversion of tensors and opaque values to Python values and back."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler_gym.service.proto import (
    BooleanTensor,
    ByteTensor,
    DoubleTensor,
    Event,
    FloatTensor,
    Int64Tensor,
    Opaque,
    StringTensor,
)

if TYPE_CHECKING:
    import networkx


# The error of messages and values that have no counterpart.


class ConversionError(TypeError, KeyError):
    """There is no message for a value, or no value for a message.

    Raised when a service uses a ``type_id`` or an encoding without a registered converter, or when
    a Python service sends a value of an unsupported type.
    """

    __str__ = Exception.__str__  # The text of a KeyError would be the repr.


# Conversion of opaque values, whose format names their encoding.


def _graph_from_json(data: bytes) -> "networkx.MultiDiGraph[Any]":
    """Returns the graph that node-link JSON describes.

    The library's own reader keeps only one of several links that have the same ends and key,
    which those between two statements of a program usually do. This one keeps all.
    """
    # Slow to import.
    from compiler_gym.util.comparable_graph import ComparableGraph

    document = json.loads(data)
    graph = ComparableGraph()
    try:
        graph.graph.update(document.get("graph", {}))
        for node in document["nodes"]:
            graph.add_nodes_from([(node.pop("id"), node)])
        # Recent versions of the library write "edges" instead of "links".
        for link in document["links"] if "links" in document else document["edges"]:
            source, target = link.pop("source"), link.pop("target")
            key = link.pop("key", None)
            is_taken = graph.has_edge(source, target, key)
            key = graph.add_edge(source, target, key=None if is_taken else key)
            graph.edges[source, target, key].update(link)
    except KeyError as error:
        raise ValueError(f"Malformed node-link JSON of a graph: there is no {error}") from None
    return graph


#: Functions that decode opaque data, by its format. Add an entry for a format of your own.
OPAQUE_FORMATS: dict[str, Callable[[bytes], Any]] = {
    "json://": json.loads,
    "json://networkx/MultiDiGraph": _graph_from_json,
}


def opaque_to_value(opaque: Opaque) -> Any:
    """Returns the value that a message holds.

    Raises:
        ConversionError: There is no decoder for its format in :data:`OPAQUE_FORMATS`.
        ValueError: The data is malformed.
    """
    decode = OPAQUE_FORMATS.get(opaque.format)
    if decode is None:
        raise ConversionError(
            f"There is no decoder for the format {opaque.format!r}. Add one to "
            "compiler_gym.service.proto.py_converters.OPAQUE_FORMATS"
        )
    return decode(opaque.data)


# Conversion of tensor messages to numpy arrays and back.

_DTYPES = {
    BooleanTensor: np.dtype(np.bool_),
    Int64Tensor: np.dtype(np.int64),
    FloatTensor: np.dtype(np.float32),
    DoubleTensor: np.dtype(np.float64),
    StringTensor: np.dtype(object),
}


def tensor_to_array(tensor: Any) -> np.ndarray:
    """Returns the array that a tensor message holds.

    It has the shape of the tensor, and the dtype bool, int64, float32, float64, object (of
    ``str``) or, for bytes, int8. One of bytes is a view of the message and cannot be written to;
    copy it to change it. All others are copies.

    Raises:
        ValueError: Shape and number of values do not fit.
    """
    values = tensor.value
    if type(values) is bytes:
        array = np.frombuffer(values, dtype=np.int8)
    else:
        # Values of messages create a new array themselves. np.array() would copy it again. This
        # takes about 2 us for 50 and for 1,000 values; np.fromiter() and lists are slower.
        array = np.asarray(values, dtype=_DTYPES[type(tensor)])
    shape = tensor.shape
    if shape == [array.size]:
        return array
    if not shape and not array.size:
        return array  # An empty message is an empty sequence.
    try:
        return array.reshape(tuple(shape))
    except ValueError:
        raise ValueError(
            f"Malformed {type(tensor).__name__}: it has the shape {tuple(shape)} but {array.size} "
            "values"
        ) from None


def bytes_to_event(value: bytes | bytearray | memoryview | np.ndarray) -> Event:
    """Returns the event that holds bytes, or an array of 8-bit integers, as a byte tensor."""
    if isinstance(value, np.ndarray):
        return Event(byte_tensor=ByteTensor(shape=value.shape, value=value.tobytes()))
    data = bytes(value)
    return Event(byte_tensor=ByteTensor(shape=[len(data)], value=data))


def array_to_event(array: np.ndarray) -> Event:
    """Returns the event that holds an array as a tensor.

    Truth values become a boolean tensor, int8 a byte tensor, other integers an int64 tensor,
    float64 a double tensor, shorter floats a float tensor, and texts a string tensor.

    Raises:
        ConversionError: The array is of another dtype.
        ValueError: An integer is too big for int64.
    """
    shape, kind = array.shape, array.dtype.kind
    if array.dtype == np.int8:
        return bytes_to_event(array)
    # Lists of Python's own numbers are faster to copy into messages than arrays.
    values = array.ravel().tolist()
    if kind == "b":
        return Event(boolean_tensor=BooleanTensor(shape=shape, value=values))
    if kind in "iu":
        return Event(int64_tensor=Int64Tensor(shape=shape, value=values))
    if kind == "f" and array.dtype.itemsize <= 4:
        return Event(float_tensor=FloatTensor(shape=shape, value=values))
    if array.dtype == np.float64:
        return Event(double_tensor=DoubleTensor(shape=shape, value=values))
    if kind in "OUT" and all(isinstance(value, str) for value in values):
        return Event(string_tensor=StringTensor(shape=shape, value=values))
    raise ConversionError(
        f"There is no tensor of {array.dtype}. Use an array of truth values, integers, floats of "
        "at most 64 bits, or texts"
    )
