"""Conversion of events, the values of actions and observations, to Python values and back."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import DictEvent, Event, ListEvent, Opaque
from compiler_gym.service.proto.value_converters import (
    ConversionError,
    array_to_event,
    bytes_to_event,
    opaque_to_value,
    tensor_to_array,
)
from compiler_gym.spaces import ActionSpace, Scalar, Sequence, SpaceSequence, SpaceUnion


def event_to_value(event: Event) -> Any:
    """Returns the value that an event holds.

    =====================  ==========================================
    kind of event          value
    =====================  ==========================================
    not set                None
    event_list             list of values
    event_dict             dictionary of values by text, keys sorted
    boolean_value          bool
    int64_value            int
    float_value            float
    double_value           float
    string_value           str
    boolean_tensor         array of bool
    byte_tensor            array of int8, read-only
    int64_tensor           array of int64
    float_tensor           array of float32
    double_tensor          array of float64
    string_tensor          array of object (``str``)
    any_value              what the format of the Opaque in it says
    =====================  ==========================================

    Raises:
        ConversionError: There is no converter for the ``type_id`` in :data:`EVENT_TYPE_IDS`, or
            none for the message or format in ``any_value``.
        ValueError: The event is malformed.
    """
    if type_id := event.type_id:
        return _converter_of_type_id(type_id)(event)
    return _DECODERS[event.WhichOneof("value")](event)


def event_to_value_by_kind(event: Event) -> Any:
    """Same as :func:`event_to_value`, but ignores the ``type_id``. For use in converters."""
    return _DECODERS[event.WhichOneof("value")](event)


#: Functions that convert events, by their ``type_id``. Add an entry for a type of your own.
EVENT_TYPE_IDS: dict[str, Callable[[Event], Any]] = {"permutation": event_to_value_by_kind}


def _converter_of_type_id(type_id: str) -> Callable[[Event], Any]:
    try:
        return EVENT_TYPE_IDS[type_id]
    except KeyError:
        raise ConversionError(
            f"There is no converter for events of type {type_id!r}. Add one to "
            "compiler_gym.service.proto.py_converters.EVENT_TYPE_IDS"
        ) from None


def _any_to_value(message: AnyMessage) -> Any:
    opaque = Opaque()
    if not message.Unpack(opaque):
        raise ConversionError(
            f"There is no value for a {message.TypeName()!r}; an event can hold an "
            f"{Opaque.DESCRIPTOR.full_name!r}"
        )
    return opaque_to_value(opaque)


_DECODERS: dict[str | None, Callable[[Event], Any]] = {
    None: lambda event: None,
    "event_list": lambda event: [event_to_value(item) for item in event.event_list.event],
    "event_dict": lambda event: {
        key: event_to_value(item) for key, item in sorted(event.event_dict.event.items())
    },
    "boolean_value": operator.attrgetter("boolean_value"),
    "int64_value": operator.attrgetter("int64_value"),
    "float_value": operator.attrgetter("float_value"),
    "double_value": operator.attrgetter("double_value"),
    "string_value": operator.attrgetter("string_value"),
    "boolean_tensor": lambda event: tensor_to_array(event.boolean_tensor),
    "byte_tensor": lambda event: tensor_to_array(event.byte_tensor),
    "int64_tensor": lambda event: tensor_to_array(event.int64_tensor),
    "float_tensor": lambda event: tensor_to_array(event.float_tensor),
    "double_tensor": lambda event: tensor_to_array(event.double_tensor),
    "string_tensor": lambda event: tensor_to_array(event.string_tensor),
    "any_value": lambda event: _any_to_value(event.any_value),
}


def value_to_event(value: Any) -> Event:
    """Returns the event that holds a value. Its kind depends on the type of the value.

    Truth values, integers and texts become a value of their kind, ``float`` a double_value and
    ``numpy.float32`` a float_value; numpy arrays become a tensor of their dtype and bytes a byte
    tensor; lists and tuples become an event_list, dictionaries an event_dict. None becomes an
    event that is not set, and an event stays as it is.

    Raises:
        ConversionError: There is no event for values of the type.
        ValueError: An integer is too big for int64.
    """
    encode = _ENCODERS.get(type(value))
    if encode is None:
        encode = next(
            (encode for kind, encode in _ENCODERS_BY_BASE.items() if isinstance(value, kind)), None
        )
    if encode is None:
        raise ConversionError(
            f"There is no event for a value of type {type(value).__name__!r}: {value!r}. Use "
            "truth values, numbers, texts, bytes, numpy arrays, and lists and dictionaries of them"
        )
    return encode(value)


def _dict_to_event(value: Mapping[str, Any]) -> Event:
    for key in value:
        if not isinstance(key, str):
            raise ConversionError(f"There is no event for a dictionary with the key {key!r}")
    return Event(
        event_dict=DictEvent(event={key: value_to_event(item) for key, item in value.items()})
    )


def _list_to_event(value: list[Any] | tuple[Any, ...]) -> Event:
    return Event(event_list=ListEvent(event=[value_to_event(item) for item in value]))


_ENCODERS: dict[type, Callable[[Any], Event]] = {
    bool: lambda value: Event(boolean_value=value),
    int: lambda value: Event(int64_value=value),
    float: lambda value: Event(double_value=value),
    str: lambda value: Event(string_value=value),
    np.ndarray: array_to_event,
    list: _list_to_event,
    dict: _dict_to_event,
}

# For subclasses. The types of numpy come first, because some derive from Python's own.
_ENCODERS_BY_BASE: dict[type | tuple[type, ...], Callable[[Any], Event]] = {
    Event: lambda value: value,
    type(None): lambda value: Event(),
    np.bool_: lambda value: Event(boolean_value=bool(value)),
    np.float64: lambda value: Event(double_value=float(value)),
    (np.float32, np.float16): lambda value: Event(float_value=float(value)),
    (int, np.integer): lambda value: Event(int64_value=int(value)),
    float: lambda value: Event(double_value=float(value)),
    str: lambda value: Event(string_value=str(value)),
    (bytes, bytearray, memoryview): bytes_to_event,
    np.ndarray: array_to_event,
    (list, tuple): _list_to_event,
    Mapping: _dict_to_event,
}


Encoder = Callable[[Any], Event]


def event_encoder(space: gym_spaces.Space[Any]) -> Encoder:
    """Returns a function that converts values of a space to events.

    Unlike :func:`value_to_event`, the kind of event depends on the space, not on the type of the
    value: a list of integers becomes a tensor if the space is a sequence of integers.

    The function does not check whether the space contains the value, but raises TypeError or
    ValueError if the event cannot hold it.

    Args:
        space: The space: one of ``compiler_gym.spaces``, or gymnasium's Discrete, Box, Dict or
            Tuple.

    Raises:
        ConversionError: There is no kind of event for the space.
    """
    for kind, make_encoder in _MAKE_ENCODER.items():
        if isinstance(space, kind):
            return make_encoder(space)
    raise ConversionError(f"There is no kind of event for values of {space}")


def _discrete(space: gym_spaces.Discrete) -> Encoder:
    return lambda value: Event(int64_value=operator.index(value))


def _scalar(space: Scalar) -> Encoder:
    if space.dtype.kind == "b":
        return lambda value: Event(boolean_value=bool(value))
    if space.dtype.kind in "iu":
        return lambda value: Event(int64_value=operator.index(value))
    if space.dtype.itemsize <= 4:
        return lambda value: Event(float_value=float(value))
    return lambda value: Event(double_value=float(value))


def _box(space: gym_spaces.Box) -> Encoder:
    return lambda value: array_to_event(np.asarray(value, dtype=space.dtype))


def _sequence(space: Sequence) -> Encoder:
    if isinstance(space.dtype, gym_spaces.Space):
        return _texts if _is_text(space.dtype) else _list_of(space.dtype)
    if space.dtype is str:
        return lambda value: Event(string_value=value)
    if space.dtype is bytes:
        return bytes_to_event
    if isinstance(space.dtype, np.dtype):
        return lambda value: _numbers(value, space.dtype)
    return value_to_event


def _is_text(space: gym_spaces.Space[Any]) -> bool:
    return isinstance(space, Sequence) and space.dtype is str


def _texts(values: Any) -> Event:
    # Keeps the shape even if there are no texts, or all have the same length.
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array_to_event(array)


def _numbers(values: Any, dtype: np.dtype) -> Event:
    if isinstance(values, (bytes, bytearray, memoryview)):
        return bytes_to_event(values)
    array = np.asarray(values, dtype=dtype)
    return bytes_to_event(array) if dtype == np.uint8 else array_to_event(array)


def _list_of(space: gym_spaces.Space[Any]) -> Encoder:
    encode = event_encoder(space)
    return lambda values: Event(event_list=ListEvent(event=map(encode, values)))


def _tuple(space: gym_spaces.Tuple) -> Encoder:  # type: ignore[type-arg]
    encoders = [event_encoder(child) for child in space.spaces]

    def encode(values: Any) -> Event:
        items = zip(encoders, values, strict=True)
        return Event(event_list=ListEvent(event=[encode(value) for encode, value in items]))

    return encode


def _dict(space: gym_spaces.Dict) -> Encoder:
    encoders = {key: event_encoder(child) for key, child in space.spaces.items()}

    def encode(values: Any) -> Event:
        if values.keys() != encoders.keys():
            raise ValueError(f"Expected the keys {sorted(encoders)}, not {sorted(values)}")
        events = {key: encoder(values[key]) for key, encoder in encoders.items()}
        return Event(event_dict=DictEvent(event=events))

    return encode


def _union(space: SpaceUnion) -> Encoder:
    encoders = [(child, event_encoder(child)) for child in space.spaces]

    def encode(value: Any) -> Event:
        for child, encoder in encoders:
            if child.contains(value):
                return encoder(value)
        raise ValueError(f"{value!r} is in none of the spaces of {space}")

    return encode


_MAKE_ENCODER: dict[type, Callable[[Any], Encoder]] = {
    ActionSpace: lambda space: event_encoder(space.wrapped),
    gym_spaces.Discrete: _discrete,
    Scalar: _scalar,
    gym_spaces.Box: _box,
    gym_spaces.Dict: _dict,
    gym_spaces.Tuple: _tuple,
    Sequence: _sequence,
    SpaceSequence: lambda space: _list_of(space.space),
    SpaceUnion: _union,
}
