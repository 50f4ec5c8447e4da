"""Conversion of the service interface's messages to Python values and back.

To teach this module an encoding, add a function to :data:`EVENT_TYPE_IDS`,
:data:`SPACE_TYPE_IDS` or :data:`OPAQUE_FORMATS`; to change how the actions of one environment
are sent, give it :class:`ServiceMessageConverters`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from gymnasium import spaces as gym_spaces

from compiler_gym.service.proto import ActionSpace, Event, converter_classes, type_converters
from compiler_gym.service.proto.conversion_error import ConversionError
from compiler_gym.service.proto.converter_classes import *  # noqa: F403 - likewise.
from compiler_gym.service.proto.event_converters import (
    EVENT_TYPE_IDS,
    event_encoder,
    event_to_value,
    event_to_value_by_kind,
    value_to_event,
)
from compiler_gym.service.proto.opaque_converters import OPAQUE_FORMATS, opaque_to_value
from compiler_gym.service.proto.space_converters import (
    SPACE_TYPE_IDS,
    space_from_proto,
    space_from_proto_by_kind,
)
from compiler_gym.service.proto.space_encoders import space_to_proto
from compiler_gym.service.proto.type_converters import *  # noqa: F403 - as many names as it has.
from compiler_gym.service.proto.type_converters import message_default_converter

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
    *converter_classes.__all__,
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


@dataclass(frozen=True)
class ServiceMessageConverters:
    """Converts the action spaces of a service, and actions for it.

    Attributes:
        action_space_converter: Converts a service's description to the space for users.
        action_converter: Converts an action to an event. None chooses the kind of event by the
            space that ``action_space_converter`` returned.
    """

    action_space_converter: Callable[[ActionSpace], gym_spaces.Space[Any]] = message_to_python
    action_converter: Callable[[Any], Event] | None = None

    def encoder_for(self, space: gym_spaces.Space[Any]) -> Callable[[Any], Event]:
        """Returns a function that converts actions of a space to events.

        Raises:
            ConversionError: There is no kind of event for the space, nor an action_converter.
        """
        return self.action_converter or event_encoder(space)
