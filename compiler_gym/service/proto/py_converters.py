"""Conversion of the service interface's messages to Python values and back.

To teach this module an encoding, add a function to :data:`EVENT_TYPE_IDS`,
:data:`SPACE_TYPE_IDS` or :data:`OPAQUE_FORMATS`; to change how the actions of one environment
are sent, give it :class:`ServiceMessageConverters`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import ActionSpace, Event, Space, type_converters
from compiler_gym.service.proto import compiler_gym_service_pb2 as messages
from compiler_gym.service.proto.event_converters import (
    EVENT_TYPE_IDS,
    event_encoder,
    event_to_value,
    event_to_value_by_kind,
    value_to_event,
)
from compiler_gym.service.proto.space_converters import (
    SPACE_TYPE_IDS,
    space_from_proto,
    space_from_proto_by_kind,
    space_to_proto,
)
from compiler_gym.service.proto.type_converters import *  # noqa: F403 - as many names as it has.
from compiler_gym.service.proto.type_converters import message_default_converter
from compiler_gym.service.proto.value_converters import (
    OPAQUE_FORMATS,
    ConversionError,
    array_to_event,
    opaque_to_value,
)

# Converters built from other converters, under the names of earlier releases.

_CLASSES = [
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


__all__ = [
    "EVENT_TYPE_IDS",
    "OPAQUE_FORMATS",
    "SPACE_TYPE_IDS",
    "ConversionError",
    "ServiceMessageConverters",
    "event_encoder",
    "event_to_value",
    "event_to_value_by_kind",
    "message_to_python",
    "opaque_to_value",
    "space_from_proto",
    "space_from_proto_by_kind",
    "space_to_proto",
    "value_to_event",
    *_CLASSES,
    *type_converters.__all__,
]


def message_to_python(message: Message) -> Any:
    """Returns the value of an event, or the space that a message describes.

    Args:
        message: An Event, a Space, an ActionSpace, an ObservationSpace, or a part of one.

    Raises:
        ConversionError: The message has no counterpart in Python.
        ValueError: The message is malformed.
    """
    return message_default_converter(message)


def _no_further_spaces(space: Any) -> Sequence[Any]:
    del space
    return ()


@dataclass(frozen=True)
class ServiceMessageConverters:
    """Converts the action spaces of a service, and actions for it.

    Attributes:
        action_space_converter: Converts a service's description to the space for users.
        action_converter: Converts an action to an event. None chooses the kind of event by the
            space that ``action_space_converter`` returned.
        derived_action_spaces: Given a converted space, returns further spaces, each of the first
            actions of it. The service knows nothing of them.
    """

    action_space_converter: Callable[[ActionSpace], gym_spaces.Space[Any]] = message_to_python
    action_converter: Callable[[Any], Event] | None = None
    derived_action_spaces: Callable[[Any], Sequence[Any]] = _no_further_spaces

    def encoder_for(self, space: gym_spaces.Space[Any]) -> Callable[[Any], Event]:
        """Returns a function that converts actions of a space to events.

        Raises:
            ConversionError: There is no kind of event for the space, nor an action_converter.
        """
        return self.action_converter or event_encoder(space)
