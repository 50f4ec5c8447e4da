"""Conversion of descriptions to spaces and back."""

from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
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
from compiler_gym.service.proto.value_converters import (
    ConversionError,
    array_to_event,
    tensor_to_array,
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


# Conversion of spaces to their descriptions, the inverse of ``space_from_proto``.

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


def _encoded_scalar(space: Scalar) -> Space:
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


def _encoded_sequence(space: Sequence) -> Space:
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


def _encoded_permutation(space: Permutation) -> Space:
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


def _encoded_box(space: gym_spaces.Box) -> Space:
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
    Scalar: _encoded_scalar,
    gym_spaces.Box: _encoded_box,
    gym_spaces.Dict: lambda space: Space(
        space_dict=DictSpace(space={k: space_to_proto(v) for k, v in space.spaces.items()})
    ),
    gym_spaces.Tuple: lambda space: Space(space_list=_list(space.spaces)),
    Permutation: _encoded_permutation,
    Sequence: _encoded_sequence,
    SpaceSequence: lambda space: _space_sequence(space.space, _length_range(space.size_range)),
    SpaceUnion: lambda space: Space(space_union=_list(space.spaces)),
}
