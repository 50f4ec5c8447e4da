"""Conversion of descriptions to spaces."""

from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import CommandlineSpace, Int64Range, Space
from compiler_gym.service.proto.conversion_error import ConversionError
from compiler_gym.service.proto.tensor_converters import tensor_to_array
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
    SpaceSequence,
    SpaceUnion,
    Tuple,
)

Name = str | None


def space_from_proto(message: Space, name: Name = None) -> gym_spaces.Space[Any]:
    """Makes the space that a message describes.

    A space_list becomes a Tuple, a space_dict a Dict with sorted keys, and a space_union a
    SpaceUnion; single values become a Scalar, texts and sequences a Sequence, sequences of texts
    a Sequence whose elements are a Sequence, and boxes a Box. The values are those that
    :func:`event_to_value` returns.

    Args:
        message: The description.
        name: The name of the space.

    Raises:
        ConversionError: The description is empty, or there is no converter for its ``type_id``
            in :data:`SPACE_TYPE_IDS`, or for what is in its ``any_value``.
        ValueError: The description is malformed, or no value fits it.
    """
    if message.type_id:
        return _converter_of_type_id(message.type_id)(message, name)
    return space_from_proto_by_kind(message, name)


def space_from_proto_by_kind(message: Space, name: Name = None) -> gym_spaces.Space[Any]:
    """Same as :func:`space_from_proto`, but ignores the ``type_id``. For use in converters."""
    kind = message.WhichOneof("value")
    if kind is None:
        raise ConversionError(f"The description of space {name!r} does not say what is in it")
    return _CONVERTERS[kind](getattr(message, kind), name)


def _converter_of_type_id(type_id: str) -> Callable[[Space, Name], gym_spaces.Space[Any]]:
    try:
        return SPACE_TYPE_IDS[type_id]
    except KeyError:
        raise ConversionError(
            f"There is no converter for spaces of type {type_id!r}. Add one to "
            "compiler_gym.service.proto.py_converters.SPACE_TYPE_IDS"
        ) from None


def _permutation(message: Space, name: Name) -> Permutation:
    kind = message.WhichOneof("value")
    sequence: Any = space_from_proto_by_kind(message, name)
    if kind == "int64_sequence" and sequence.scalar_range is not None:
        space = Permutation(name, sequence.scalar_range)
        if space.size_range == sequence.size_range:
            return space
    raise ValueError(
        f"Malformed permutation {name!r}: expected an int64_sequence as long as its range of "
        f"integers, got {sequence}"
    )


#: Functions that make a space from its description and its name, by the description's
#: ``type_id``. Add an entry for a type of your own.
SPACE_TYPE_IDS: dict[str, Callable[[Space, Name], gym_spaces.Space[Any]]] = {
    "permutation": _permutation
}


def _scalar(message: Any, name: Name, dtype: Any) -> Scalar:
    """Returns the space of a range. An unset bound is the extreme of the dtype."""
    least = message.min if message.HasField("min") else None
    greatest = message.max if message.HasField("max") else None
    return Scalar(name, least, greatest, dtype)


def _size_range(message: Int64Range) -> tuple[int, int | None]:
    # A range may be negative, but not the length of a sequence.
    least = max(0, message.min)
    return least, message.max if message.HasField("max") else None


def _sequence(message: Any, name: Name, dtype: Any) -> Sequence:
    bounds = message.scalar_range
    is_bounded = bounds.HasField("min") or bounds.HasField("max")
    return Sequence(
        name=name,
        size_range=_size_range(message.length_range),
        dtype=dtype,
        scalar_range=_scalar(bounds, None, dtype) if is_bounded else None,
    )


def _text(message: Any, name: Name, dtype: Any) -> Sequence:
    return Sequence(name=name, size_range=_size_range(message.length_range), dtype=dtype)


def _box(message: Any, name: Name) -> Box:
    low, high = tensor_to_array(message.low), tensor_to_array(message.high)
    if low.shape != high.shape:
        raise ValueError(
            f"Malformed box {name!r}: its least values have the shape {low.shape}, its greatest "
            f"{high.shape}"
        )
    return Box(low, high, name, dtype=low.dtype)


def _any(message: AnyMessage, name: Name) -> Commandline:
    commandline = CommandlineSpace()
    if not message.Unpack(commandline):
        raise ConversionError(
            f"There is no space for a {message.TypeName()!r} (space {name!r}); a description can "
            f"hold a {CommandlineSpace.DESCRIPTOR.full_name!r}"
        )
    names = commandline.name
    columns = {
        "flags": commandline.flag or names,
        "descriptions": commandline.description or [""] * len(names),
        "options": commandline.option or [""] * len(names),
    }
    for kind, texts in columns.items():
        if len(texts) != len(names):
            raise ValueError(
                f"Malformed command line {name!r}: it has {len(names)} names but {len(texts)} "
                f"{kind}"
            )
    items = zip(names, *columns.values(), strict=True)
    return Commandline([CommandlineFlag(*item) for item in items], name)


_CONVERTERS: dict[str, Callable[[Any, Name], gym_spaces.Space[Any]]] = {
    "space_list": lambda message, name: Tuple(map(space_from_proto, message.space), name),
    "space_dict": lambda message, name: Dict(
        {key: space_from_proto(space) for key, space in sorted(message.space.items())}, name
    ),
    "space_union": lambda message, name: SpaceUnion(map(space_from_proto, message.space), name),
    "discrete": lambda message, name: Discrete(message.n, name),
    "named_discrete": lambda message, name: NamedDiscrete(message.name, name),
    "boolean_value": lambda message, name: _scalar(message, name, np.bool_),
    "int64_value": lambda message, name: _scalar(message, name, np.int64),
    "float_value": lambda message, name: _scalar(message, name, np.float32),
    "double_value": lambda message, name: _scalar(message, name, np.float64),
    "string_value": lambda message, name: _text(message, name, str),
    "boolean_sequence": lambda message, name: _sequence(message, name, np.bool_),
    "byte_sequence": lambda message, name: _sequence(message, name, np.int8),
    "bytes_sequence": lambda message, name: _text(message, name, bytes),
    "int64_sequence": lambda message, name: _sequence(message, name, np.int64),
    "float_sequence": lambda message, name: _sequence(message, name, np.float32),
    "double_sequence": lambda message, name: _sequence(message, name, np.float64),
    "string_sequence": lambda message, name: _text(message, name, Sequence(dtype=str)),
    "boolean_box": _box,
    "byte_box": _box,
    "int64_box": _box,
    "float_box": _box,
    "double_box": _box,
    "any_value": _any,
    "space_sequence": lambda message, name: SpaceSequence(
        name, space_from_proto(message.space), _size_range(message.length_range)
    ),
}
