"""Converters built from other converters, under the names of earlier releases."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import Event, Space
from compiler_gym.service.proto import compiler_gym_service_pb2 as messages
from compiler_gym.service.proto.conversion_error import ConversionError
from compiler_gym.service.proto.space_converters import space_from_proto
from compiler_gym.service.proto.tensor_converters import array_to_event

__all__ = [
    "EventMessageDefaultConverter",
    "NumpyToTensorMessageConverter",
    "ProtobufAnyConverter",
    "ProtobufAnyUnpacker",
    "SpaceMessageDefaultConverter",
    "ToEventMessageConverter",
    "ToSpaceMessageConverter",
]

Converter = Callable[[Any], Any]


def _field_of(message: type[Event] | type[Space], part: Message) -> str:
    """Returns the name of the field that holds messages of a type."""
    for field in message.DESCRIPTOR.oneofs_by_name["value"].fields:
        if field.message_type is not None and field.message_type.full_name == (
            part.DESCRIPTOR.full_name
        ):
            return field.name
    raise ConversionError(
        f"expected a part of {message.DESCRIPTOR.name}, got {part.DESCRIPTOR.name}"
    )


class EventMessageDefaultConverter:
    """Converts an event: the field that is set, by another converter. None if no field is set.

    Args:
        message_converter: Converts the field, for example ``make_message_default_converter()``.
    """

    def __init__(self, message_converter: Converter):
        self.message_converter = message_converter

    def __call__(self, event: Event) -> Any:
        """Converts an event. Raises what the converter raises."""
        field = event.WhichOneof("value")
        return None if field is None else self.message_converter(getattr(event, field))


class SpaceMessageDefaultConverter:
    """Converts the description of a space: the field that is set, by another converter.

    Args:
        message_converter: Converts the field, for example ``make_message_default_converter()``.
    """

    def __init__(self, message_converter: Converter):
        self.message_converter = message_converter

    def __call__(self, space: Space) -> Any:
        """Converts a description.

        Raises:
            ConversionError: No field is set.
            Exception: What the converter raises.
        """
        field = space.WhichOneof("value")
        if field is None or field == "space_union":  # A list of spaces, which is a Tuple elsewhere.
            return space_from_proto(space)
        return self.message_converter(getattr(space, field))


class ToEventMessageConverter:
    """Converts a value to an event.

    Args:
        to_message_converter: Converts the value to an event, or to a message that is part of one.
    """

    def __init__(self, to_message_converter: Converter):
        self.to_message_converter = to_message_converter

    def __call__(self, value: Any) -> Event:
        """Converts a value. Raises ConversionError if the converter returns another message."""
        message = self.to_message_converter(value)
        if isinstance(message, Event):
            return message
        return Event(**{_field_of(Event, message): message})


class ToSpaceMessageConverter:
    """Converts a space to its description.

    Args:
        to_message_converter: Converts the space to a description, or to a message that is part of
            one.
    """

    def __init__(self, to_message_converter: Converter):
        self.to_message_converter = to_message_converter

    def __call__(self, space: gym_spaces.Space[Any]) -> Space:
        """Converts a space. Raises ConversionError if the converter returns another message."""
        message = self.to_message_converter(space)
        if isinstance(message, Space):
            return message
        return Space(**{_field_of(Space, message): message})


class NumpyToTensorMessageConverter:
    """Converts a numpy array to the tensor message of its dtype."""

    def __call__(self, array: np.ndarray) -> Any:
        """Converts an array. Raises ConversionError if there is no tensor of its dtype."""
        event = array_to_event(array)
        return getattr(event, event.WhichOneof("value") or "")


def _own_messages() -> dict[str, type[Message]]:
    descriptors = messages.DESCRIPTOR.message_types_by_name
    return {
        descriptor.full_name: getattr(messages, name) for name, descriptor in descriptors.items()
    }


class ProtobufAnyUnpacker:
    """Unpacks a ``google.protobuf.Any``.

    Args:
        type_str_to_class_map: Message classes by their full names. By default those of the service
            interface.
    """

    def __init__(self, type_str_to_class_map: Mapping[str, type[Message]] | None = None):
        self.type_str_to_class_map = dict(type_str_to_class_map or _own_messages())

    def __call__(self, message: AnyMessage) -> Message:
        """Unpacks a message. Raises ConversionError if its type is not in the map."""
        kind = self.type_str_to_class_map.get(message.TypeName())
        if kind is None:
            raise ConversionError(
                f"expected one of the types {sorted(self.type_str_to_class_map)}, got "
                f"{message.TypeName()!r}"
            )
        return kind.FromString(message.value)


class ProtobufAnyConverter:
    """Unpacks a ``google.protobuf.Any`` and converts what is in it.

    Args:
        unpacker: Unpacks the message, for example ``ProtobufAnyUnpacker()``.
        message_converter: Converts the unpacked message.
    """

    def __init__(self, unpacker: Callable[[AnyMessage], Message], message_converter: Converter):
        self.unpacker = unpacker
        self.message_converter = message_converter

    def __call__(self, message: AnyMessage) -> Any:
        """Converts a message. Raises what its two parts raise."""
        return self.message_converter(self.unpacker(message))
