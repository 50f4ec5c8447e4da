"""Checks of values against declared spaces, and sample values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compiler_gym.service.proto import ActionSpace, CommandlineSpace, Event, ObservationSpace, Space
from compiler_gym.service.proto.py_converters import (
    event_encoder,
    event_to_value,
    message_to_python,
)
from compiler_gym.util.truncate import shortened

# The kind of event that belongs to each kind of space.
_KINDS = {
    "space_list": "event_list",
    "space_dict": "event_dict",
    "space_sequence": "event_list",
    "discrete": "int64_value",
    "named_discrete": "int64_value",
    "boolean_value": "boolean_value",
    "int64_value": "int64_value",
    "float_value": "float_value",
    "double_value": "double_value",
    "string_value": "string_value",
    "boolean_sequence": "boolean_tensor",
    "byte_sequence": "byte_tensor",
    "int64_sequence": "int64_tensor",
    "float_sequence": "float_tensor",
    "double_sequence": "double_tensor",
    "string_sequence": "string_tensor",
    "boolean_box": "boolean_tensor",
    "byte_box": "byte_tensor",
    "int64_box": "int64_tensor",
    "float_box": "float_tensor",
    "double_box": "double_tensor",
}

_MAX_DISCRETE = 400
_SAMPLES = 16
_SEED = 20200707
_MAX_TEXT = 100


@dataclass(frozen=True)
class Action:
    """An action to try.

    Attributes:
        name: The name for messages.
        event: The encoded action.
    """

    name: str
    event: Event


def action_count(space: Space) -> int | None:
    """Returns the number of actions in a space of numbered ones; None for other spaces."""
    kind = space.WhichOneof("value")
    if kind == "discrete":
        return space.discrete.n
    names = _names_of(space)
    return None if names is None else len(names)


def _names_of(space: Space) -> list[str] | None:
    if space.WhichOneof("value") == "named_discrete":
        return list(space.named_discrete.name)
    commandline = CommandlineSpace()
    if space.WhichOneof("value") == "any_value" and space.any_value.Unpack(commandline):
        return list(commandline.name)
    return None


def actions_of(message: ActionSpace) -> list[Action]:
    """Returns all actions of a space, or some if there are too many. They are always the same.

    Raises:
        Exception: If the space cannot be understood.
    """
    count = action_count(message.space)
    if count is not None:
        names = _names_of(message.space) or [str(number) for number in range(count)]
        step = max(1, count // _MAX_DISCRETE)
        numbers = itertools.islice(range(0, count, step), _MAX_DISCRETE)
        return [Action(names[number], Event(int64_value=number)) for number in numbers]
    return list(_samples(message))


def _samples(message: ActionSpace) -> Iterator[Action]:
    space: Any = message_to_python(message)
    space.seed(_SEED)
    encode = event_encoder(space)
    for _ in range(_SAMPLES):
        value = space.sample()
        yield Action(in_a_line(str(value)), encode(value))


def action_named(space: ActionSpace, name: str) -> Action | None:
    """Returns the action with a name or number. If actions are texts, any text is one."""
    names, count = _names_of(space.space), action_count(space.space)
    if names is not None and name in names:
        return Action(name, Event(int64_value=names.index(name)))
    if count is not None:
        is_number = name.isdecimal() and int(name) < count
        return Action(name, Event(int64_value=int(name))) if is_number else None
    if space.space.WhichOneof("value") == "string_value":
        return Action(name, Event(string_value=name))
    return None


def mismatch(space: ObservationSpace, event: Event) -> str | None:
    """Returns the reason that a value is not in its space; None if it is.

    Args:
        space: The space that the service declares.
        event: The value.
    """
    declared = space.exact_space if space.HasField("exact_space") else space.space
    kind, wanted = event.WhichOneof("value"), _KINDS.get(declared.WhichOneof("value") or "")
    # There is no kind of space for values that have a format of their own.
    if kind == "any_value" and wanted == "string_value":
        return _unreadable(event)
    if not declared.type_id and wanted is not None and kind != wanted:
        return f"it is a {kind or 'value that is not set'}, not a {wanted}"
    try:
        value = event_to_value(event)
        if message_to_python(space).contains(value):
            return None
    except Exception as error:  # Whatever the converters think of what a service sends.
        return f"it cannot be read: {error}"
    return f"it is {in_a_line(str(value))}"


def _unreadable(event: Event) -> str | None:
    try:
        event_to_value(event)
    except Exception as error:  # Likewise.
        return f"it cannot be read: {error}"
    return None


def exact(event: Event) -> bytes:
    """Returns bytes that identify equal values."""
    return event.SerializeToString(deterministic=True)


def in_a_line(text: str) -> str:
    """Returns a text as part of a line."""
    return shortened(" ".join(text.split()), _MAX_TEXT)
