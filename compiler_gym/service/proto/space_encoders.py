"""Conversion of spaces to their descriptions, the inverse of ``space_from_proto``."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import (
    BooleanBox,
    BooleanRange,
    BooleanSequenceSpace,
    ByteBox,
    ByteSequenceSpace,
    BytesSequenceSpace,
    CommandlineSpace,
    DictSpace,
    DiscreteSpace,
    DoubleBox,
    DoubleRange,
    DoubleSequenceSpace,
    FloatBox,
    FloatRange,
    FloatSequenceSpace,
    Int64Box,
    Int64Range,
    Int64SequenceSpace,
    ListSpace,
    NamedDiscreteSpace,
    Space,
    SpaceSequenceSpace,
    StringSequenceSpace,
    StringSpace,
)
from compiler_gym.service.proto.conversion_error import ConversionError
from compiler_gym.service.proto.tensor_converters import array_to_event
from compiler_gym.spaces import (
    ActionSpace,
    Commandline,
    NamedDiscrete,
    Permutation,
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
)

_INT64 = np.iinfo(np.int64)


def space_to_proto(space: gym_spaces.Space[Any]) -> Space:
    """Returns the description of a space. ``space_from_proto`` returns an equal space.

    A description has no name, and knows integers of 64 bits only (of 8 bits in boxes and
    sequences, for bytes): the names of inner spaces are lost, and smaller integers become numbers
    with the bounds of their type.

    Args:
        space: One of ``compiler_gym.spaces``, or gymnasium's Discrete, Box, Dict or Tuple.

    Raises:
        ConversionError: There is no description for the space.
    """
    for kind, describe in _DESCRIBE.items():
        if isinstance(space, kind):
            return describe(space)
    raise ConversionError(f"There is no description for the space {space}")


def _commandline(space: Commandline) -> Space:
    message = Space()
    message.any_value.Pack(
        CommandlineSpace(
            name=space.names,
            flag=space.flags,
            description=space.descriptions,
            option=space.options,
        )
    )
    return message


def _discrete(space: gym_spaces.Discrete) -> Space:
    if space.start != 0:
        raise ConversionError(f"The description of {space} would begin with 0, not {space.start}")
    return Space(discrete=DiscreteSpace(n=int(space.n)))


def _range(message_class: type, least: Any, greatest: Any, extremes: tuple[Any, Any]) -> Any:
    """Returns a range. Bounds at the extreme of the type are left unset."""
    message = message_class()
    if least != extremes[0]:
        message.min = least
    if greatest != extremes[1]:
        message.max = greatest
    return message


def _scalar_range(space: Scalar) -> Any:
    kind = space.dtype.kind
    if kind == "b":
        return _range(BooleanRange, space.min, space.max, (False, True))
    if kind in "iu":
        if space.max > _INT64.max:
            raise ConversionError(f"The values of {space} are too big for int64")
        return _range(Int64Range, space.min, space.max, (_INT64.min, _INT64.max))
    is_short = space.dtype.itemsize <= 4
    message_class = FloatRange if is_short else DoubleRange
    return _range(message_class, space.min, space.max, (-np.inf, np.inf))


def _scalar(space: Scalar) -> Space:
    message = _scalar_range(space)
    kinds = {
        BooleanRange: "boolean_value",
        Int64Range: "int64_value",
        FloatRange: "float_value",
        DoubleRange: "double_value",
    }
    return Space(**{kinds[type(message)]: message})


def _length_range(size_range: tuple[int, int | None]) -> Int64Range:
    return Int64Range(min=size_range[0], max=size_range[1])


def _sequence(space: Sequence) -> Space:
    if space.opaque_data_format is not None:
        raise ConversionError(f"There is no description for the format of the space {space}")
    length = _length_range(space.size_range)
    if space.dtype is str:
        return Space(string_value=StringSpace(length_range=length))
    if space.dtype is bytes:
        return Space(bytes_sequence=BytesSequenceSpace(length_range=length))
    if space.dtype == Sequence(dtype=str):
        return Space(string_sequence=StringSequenceSpace(length_range=length))
    if isinstance(space.dtype, gym_spaces.Space):
        return _space_sequence(space.dtype, length)
    if isinstance(space.dtype, np.dtype):
        return _numbers(space, length)
    raise ConversionError(f"There is no description for elements of {space.dtype} ({space})")


def _numbers(space: Sequence, length: Int64Range) -> Space:
    # A sequence without bounds has those of its type.
    bounds = space.scalar_range or Scalar(dtype=space.dtype)
    if space.dtype == np.int8:
        limits = (-128, 127)
        scalars = _range(Int64Range, max(bounds.min, limits[0]), min(bounds.max, limits[1]), limits)
        message = ByteSequenceSpace(length_range=length, scalar_range=scalars)
        return Space(byte_sequence=message)
    kind, message_class = {
        "b": ("boolean_sequence", BooleanSequenceSpace),
        "i": ("int64_sequence", Int64SequenceSpace),
        "u": ("int64_sequence", Int64SequenceSpace),
        "f": ("double_sequence", DoubleSequenceSpace)
        if space.dtype.itemsize > 4
        else ("float_sequence", FloatSequenceSpace),
    }[space.dtype.kind]
    scalars = _scalar_range(Scalar(None, bounds.min, bounds.max, space.dtype))
    field: dict[str, Any] = {kind: message_class(length_range=length, scalar_range=scalars)}
    return Space(**field)


def _permutation(space: Permutation) -> Space:
    message = _numbers(space, _length_range(space.size_range))
    message.type_id = "permutation"
    return message


def _space_sequence(element: gym_spaces.Space[Any], length: Int64Range) -> Space:
    message = SpaceSequenceSpace(space=space_to_proto(element), length_range=length)
    return Space(space_sequence=message)


_BOXES = {
    "boolean_tensor": ("boolean_box", BooleanBox),
    "byte_tensor": ("byte_box", ByteBox),
    "int64_tensor": ("int64_box", Int64Box),
    "float_tensor": ("float_box", FloatBox),
    "double_tensor": ("double_box", DoubleBox),
}


def _box(space: gym_spaces.Box) -> Space:
    low, high = array_to_event(space.low), array_to_event(space.high)
    tensor = low.WhichOneof("value")
    kind, message_class = _BOXES[tensor]
    message = message_class(low=getattr(low, tensor), high=getattr(high, tensor))
    field: dict[str, Any] = {kind: message}
    return Space(**field)


def _list(spaces: Any) -> ListSpace:
    return ListSpace(space=map(space_to_proto, spaces))


# The first class that matches a space counts.
_DESCRIBE: dict[type, Callable[[Any], Space]] = {
    ActionSpace: lambda space: space_to_proto(space.wrapped),
    Commandline: _commandline,
    NamedDiscrete: lambda space: Space(named_discrete=NamedDiscreteSpace(name=space.names)),
    gym_spaces.Discrete: _discrete,
    Scalar: _scalar,
    gym_spaces.Box: _box,
    gym_spaces.Dict: lambda space: Space(
        space_dict=DictSpace(space={k: space_to_proto(v) for k, v in space.spaces.items()})
    ),
    gym_spaces.Tuple: lambda space: Space(space_list=_list(space.spaces)),
    Permutation: _permutation,
    Sequence: _sequence,
    SpaceSequence: lambda space: _space_sequence(space.space, _length_range(space.size_range)),
    SpaceUnion: lambda space: Space(space_union=_list(space.spaces)),
}
