"""Conversions under the names of earlier releases.

``message_to_python``, ``value_to_event`` and ``space_to_proto`` do the same in one call each. The
tables here are for programs that change how a type is converted::

    converter = make_message_default_converter()
    converter.conversion_map[ActionSpace] = my_converter
    ServiceMessageConverters(action_space_converter=converter)

An entry of a table applies to messages that the converter is called with, not to messages inside of
others. The tables of ``py_converters`` apply to those.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from gymnasium import spaces as gym_spaces

from compiler_gym import spaces
from compiler_gym.service import proto as messages
from compiler_gym.service.proto import (
    ActionSpace,
    BooleanTensor,
    ByteTensor,
    CommandlineSpace,
    DictEvent,
    DoubleTensor,
    Event,
    FloatTensor,
    Int64Tensor,
    ListEvent,
    ObservationSpace,
    Opaque,
    Space,
    StringTensor,
)
from compiler_gym.service.proto.event_converters import event_to_value, value_to_event
from compiler_gym.service.proto.space_converters import space_from_proto, space_to_proto
from compiler_gym.service.proto.value_converters import (
    ConversionError,
    array_to_event,
    opaque_to_value,
)

__all__ = [
    "TypeBasedConverter",
    "TypeIdDispatchConverter",
    "convert_box_message",
    "convert_byte_tensor_message_to_numpy",
    "convert_bytes_to_numpy",
    "convert_commandline_space_message",
    "convert_discrete_space_message",
    "convert_named_discrete_space_message",
    "convert_numpy_to_boolean_tensor_message",
    "convert_numpy_to_byte_tensor_message",
    "convert_numpy_to_double_tensor_message",
    "convert_numpy_to_float_tensor_message",
    "convert_numpy_to_int64_tensor_message",
    "convert_numpy_to_string_tensor_message",
    "convert_permutation_space_message",
    "convert_range_message",
    "convert_sequence_space",
    "convert_standard_tensor_message_to_numpy",
    "convert_tensor_message_to_numpy",
    "convert_to_boolean_box_message",
    "convert_to_boolean_range_message",
    "convert_to_boolean_sequence_space",
    "convert_to_box_message",
    "convert_to_byte_box_message",
    "convert_to_byte_sequence_space",
    "convert_to_bytes_sequence_space",
    "convert_to_commandline_space_message",
    "convert_to_discrete_space_message",
    "convert_to_double_box_message",
    "convert_to_double_range_message",
    "convert_to_double_sequence_space",
    "convert_to_float_box_message",
    "convert_to_float_range_message",
    "convert_to_float_sequence_space",
    "convert_to_int64_box_message",
    "convert_to_int64_range_message",
    "convert_to_int64_sequence_space",
    "convert_to_named_discrete_space_message",
    "convert_to_permutation_space_message",
    "convert_to_range_message",
    "convert_to_ranged_sequence_space",
    "convert_to_string_sequence_space",
    "convert_to_string_space",
    "convert_trivial",
    "make_message_default_converter",
    "message_default_converter",
    "observation_space_from_proto",
    "to_event_message_default_converter",
    "to_space_message_default_converter",
]

Converter = Callable[[Any], Any]

# The field of an Event for each kind of tensor.
_KIND_OF_TENSOR: dict[type, str] = {
    BooleanTensor: "boolean_tensor",
    ByteTensor: "byte_tensor",
    DoubleTensor: "double_tensor",
    FloatTensor: "float_tensor",
    Int64Tensor: "int64_tensor",
    StringTensor: "string_tensor",
}


class TypeBasedConverter:
    """Converts a value by its type.

    Attributes:
        conversion_map: The function for each type. Other types use the entry of their first base
            class that has one.
    """

    def __init__(self, conversion_map: Mapping[type, Converter]):
        self.conversion_map = dict(conversion_map)

    def __call__(self, value: Any) -> Any:
        """Converts a value.

        Raises:
            ConversionError: There is no function for the type of the value. It is a KeyError.
        """
        for kind in type(value).__mro__:
            if kind in self.conversion_map:
                return self.conversion_map[kind](value)
        raise ConversionError(
            f"There is no conversion of a value of type {type(value).__name__!r}: add a function "
            "for the type to the conversion_map"
        )


class TypeIdDispatchConverter:
    """Converts messages by their ``type_id``.

    Attributes:
        default_converter: Converts messages without a ``type_id``.
        conversion_map: The function for each ``type_id``.
    """

    def __init__(
        self, default_converter: Converter, conversion_map: Mapping[str, Converter] | None = None
    ):
        self.default_converter = default_converter
        self.conversion_map = dict(conversion_map or {})

    def __call__(self, message: Event | Space) -> Any:
        """Converts a message.

        Raises:
            ConversionError: There is no function for its ``type_id``. It is a KeyError.
        """
        if not message.type_id:
            return self.default_converter(message)
        if message.type_id not in self.conversion_map:
            raise ConversionError(
                f"There is no conversion for the type {message.type_id!r}: add a function for it "
                "to the conversion_map"
            )
        return self.conversion_map[message.type_id](message)


def make_message_default_converter() -> TypeBasedConverter:
    """Returns a new converter of messages: of events to values, of descriptions to spaces.

    It converts events, spaces, action spaces, observation spaces, the parts of all these, opaque
    values, and ``google.protobuf.Any`` of these. Booleans, numbers and texts stay unchanged.
    """
    converter = TypeBasedConverter(
        {
            Event: event_to_value,
            ListEvent: lambda message: event_to_value(Event(event_list=message)),
            DictEvent: lambda message: event_to_value(Event(event_dict=message)),
            **dict.fromkeys((bool, int, float, str), convert_trivial),
            **dict.fromkeys(_KIND_OF_TENSOR, convert_standard_tensor_message_to_numpy),
            Opaque: opaque_to_value,
            Space: space_from_proto,
            **dict.fromkeys(_KIND_OF_PART, _part_to_space),
            ActionSpace: lambda message: space_from_proto(message.space, message.name),
            ObservationSpace: observation_space_from_proto,
        }
    )
    converter.conversion_map[AnyMessage] = lambda message: converter(_unpacked(message))
    return converter


def to_event_message_default_converter() -> TypeBasedConverter:
    """Returns a new converter of values to events, by the type of the value."""
    types = (bool, int, float, str, bytes, list, tuple, dict, np.ndarray, np.generic, Event)
    return TypeBasedConverter(dict.fromkeys(types, value_to_event))


def to_space_message_default_converter() -> TypeBasedConverter:
    """Returns a new converter of spaces to their descriptions."""
    return TypeBasedConverter({gym_spaces.Space: space_to_proto})


def observation_space_from_proto(message: ObservationSpace) -> gym_spaces.Space[Any]:
    """Returns the space of an observation's values.

    Returns the exact space if the service also declares one for older clients.

    Raises:
        ConversionError: There is no Python space for it.
        ValueError: The message is malformed.
    """
    is_exact = message.HasField("exact_space")
    return space_from_proto(message.exact_space if is_exact else message.space, message.name)


# The field of a Space for each message that can be in one, e.g. "discrete" for a DiscreteSpace.
_KIND_OF_PART: dict[type, str] = {
    getattr(messages, field.message_type.name): field.name  # type: ignore[union-attr]
    for field in Space.DESCRIPTOR.oneofs_by_name["value"].fields
    # A list may also stand for a union, and an Any names its own type.
    if field.name not in ("space_union", "any_value")
}


def _part_to_space(message: Message) -> gym_spaces.Space[Any]:
    """Returns the space that a message describes. Raises ValueError if it is malformed."""
    part: dict[str, Any] = {_KIND_OF_PART[type(message)]: message}
    return space_from_proto(Space(**part))


def _unpacked(message: AnyMessage) -> Message:
    """Returns the value, or the description of a space, that an Any holds."""
    if message.Is(Opaque.DESCRIPTOR):  # type: ignore[arg-type]
        return Opaque.FromString(message.value)
    return Space(any_value=message)


def _to_part(*kinds: str) -> Callable[[gym_spaces.Space[Any]], Any]:
    """Returns a function that describes spaces of some kinds."""

    def convert(space: gym_spaces.Space[Any]) -> Any:
        message = space_to_proto(space)
        kind = message.WhichOneof("value")
        if kind not in kinds:
            raise ConversionError(f"{space} is a {kind}, not a {' or a '.join(kinds)}")
        return getattr(message, kind)

    convert.__doc__ = (
        f"Returns the message for a space: {' or '.join(f'``{kind}``' for kind in kinds)} of "
        "``Space``. Raises ConversionError for other spaces."
    )
    return convert


def _to_tensor(kind: str) -> Callable[[np.ndarray], Any]:
    """Returns a function that converts arrays to one kind of tensor message."""

    def convert(array: np.ndarray) -> Any:
        event = array_to_event(array)
        if event.WhichOneof("value") != kind:
            raise ConversionError(f"An array of {array.dtype} is not a {kind}")
        return getattr(event, kind)

    convert.__doc__ = (
        f"Returns the ``{kind}`` of an array. Raises ConversionError if its type is another."
    )
    return convert


def convert_standard_tensor_message_to_numpy(tensor: Any) -> np.ndarray:
    """Returns the array that a tensor message holds. Raises ValueError if it is malformed."""
    return event_to_value(Event(**{_KIND_OF_TENSOR[type(tensor)]: tensor}))


convert_tensor_message_to_numpy = convert_standard_tensor_message_to_numpy
convert_byte_tensor_message_to_numpy = convert_standard_tensor_message_to_numpy
convert_numpy_to_boolean_tensor_message = _to_tensor("boolean_tensor")
convert_numpy_to_byte_tensor_message = _to_tensor("byte_tensor")
convert_numpy_to_int64_tensor_message = _to_tensor("int64_tensor")
convert_numpy_to_float_tensor_message = _to_tensor("float_tensor")
convert_numpy_to_double_tensor_message = _to_tensor("double_tensor")
convert_numpy_to_string_tensor_message = _to_tensor("string_tensor")


def convert_trivial(value: Any) -> Any:
    """Returns a value as it is."""
    return value


def convert_bytes_to_numpy(data: bytes) -> np.ndarray:
    """Returns bytes as an array of int8, read-only."""
    return np.frombuffer(data, dtype=np.int8)


def convert_commandline_space_message(message: CommandlineSpace) -> spaces.Commandline:
    """Returns the space that a message describes. Raises ValueError if it is malformed."""
    description = Space()
    description.any_value.Pack(message)
    return cast(spaces.Commandline, space_from_proto(description))


def convert_to_commandline_space_message(space: spaces.Commandline) -> CommandlineSpace:
    """Returns the description of a command line."""
    message = CommandlineSpace()
    _to_part("any_value")(space).Unpack(message)
    return message


def convert_permutation_space_message(message: Space) -> spaces.Permutation:
    """Returns the permutation that a message describes. Ignores its ``type_id``."""
    description = Space()
    description.CopyFrom(message)
    description.type_id = "permutation"
    return cast(spaces.Permutation, space_from_proto(description))


def convert_to_permutation_space_message(space: spaces.Permutation) -> Space:
    """Returns the description of a permutation. Raises ConversionError for other spaces."""
    message = space_to_proto(space)
    if message.type_id != "permutation":
        raise ConversionError(f"{space} is not a permutation")
    return message


# The others differ only in the kind of message.
convert_range_message = _part_to_space
convert_box_message = _part_to_space
convert_sequence_space = _part_to_space
convert_discrete_space_message = _part_to_space
convert_named_discrete_space_message = _part_to_space
convert_to_range_message = _to_part("boolean_value", "int64_value", "float_value", "double_value")
convert_to_boolean_range_message = _to_part("boolean_value")
convert_to_int64_range_message = _to_part("int64_value")
convert_to_float_range_message = _to_part("float_value")
convert_to_double_range_message = _to_part("double_value")
convert_to_box_message = _to_part("boolean_box", "byte_box", "int64_box", "float_box", "double_box")
convert_to_boolean_box_message = _to_part("boolean_box")
convert_to_byte_box_message = _to_part("byte_box")
convert_to_int64_box_message = _to_part("int64_box")
convert_to_float_box_message = _to_part("float_box")
convert_to_double_box_message = _to_part("double_box")
convert_to_discrete_space_message = _to_part("discrete")
convert_to_named_discrete_space_message = _to_part("named_discrete")
convert_to_string_space = _to_part("string_value")
convert_to_ranged_sequence_space = _to_part(
    *("boolean_sequence", "byte_sequence", "bytes_sequence"),
    *("int64_sequence", "float_sequence", "double_sequence"),
)
convert_to_boolean_sequence_space = _to_part("boolean_sequence")
convert_to_byte_sequence_space = _to_part("byte_sequence")
convert_to_bytes_sequence_space = _to_part("bytes_sequence")
convert_to_int64_sequence_space = _to_part("int64_sequence")
convert_to_float_sequence_space = _to_part("float_sequence")
convert_to_double_sequence_space = _to_part("double_sequence")
convert_to_string_sequence_space = _to_part("string_sequence")

message_default_converter = make_message_default_converter()
