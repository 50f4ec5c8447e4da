"""From values of a space, such as actions, to events."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import DictEvent, Event, ListEvent
from compiler_gym.service.proto.conversion_error import ConversionError
from compiler_gym.service.proto.event_converters import value_to_event
from compiler_gym.service.proto.tensor_converters import array_to_event, bytes_to_event
from compiler_gym.spaces import ActionSpace, Scalar, Sequence, SpaceSequence, SpaceUnion

Encoder = Callable[[Any], Event]


def event_encoder(space: gym_spaces.Space[Any]) -> Encoder:
    """Returns the function that makes events of values of a space.

    Unlike :func:`value_to_event`, it makes the kind of event that belongs to the space, whatever
    the type of the value: a list of integers becomes a tensor if the space is a sequence of
    integers.

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
    # An array of the right shape even if there are no texts, or all have the same length.
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
