"""From the actions that users give to the messages that a service gets."""

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gymnasium import spaces

from compiler_gym.service.proto import Event


class ActionEncoder:
    """Checks and encodes the actions of one action space.

    Actions that are integers are encoded once, and kept.

    Args:
        space: The action space.
        to_event: Encodes a valid action.
    """

    def __init__(self, space: Any, to_event: Callable[[Any], Event]):
        self._space = space
        self._to_event = to_event
        self._events: dict[int, Event] = {}
        # Actions that are macros of several.
        self._expansions: dict[int, tuple[int, ...]] = getattr(space, "expansions", {})
        # A proxy of the project's own kind stands in for the space proper.
        self._is_discrete = isinstance(getattr(space, "wrapped", space), spaces.Discrete)

    def encode(self, actions: Iterable[Any]) -> tuple[list[Any], list[Event]]:
        """Checks and encodes actions.

        Args:
            actions: The actions; integers may be of any integer type, or the names of actions.

        Returns:
            The actions, integers as plain ``int``, and the messages that stand for them: one for
            each action, or several for a macro.

        Raises:
            TypeError: If an action is of a wrong type.
            ValueError: If an action is out of range, or there is none of a name.
        """
        actions = list(actions)
        events = []
        for i, action in enumerate(actions):
            event = self._events.get(action) if type(action) is int else None
            if event is None:
                actions[i], event = self._encode(action)
            if self._expansions and actions[i] in self._expansions:
                events += self._expand(actions[i])
            else:
                events.append(event)
        return actions, events

    def _expand(self, macro: int) -> list[Event]:
        return [self._to_event(action) for action in self._expansions[macro]]

    def _encode(self, action: Any) -> tuple[Any, Event]:
        if not self._is_discrete:
            if not self._space.contains(action):
                raise ValueError(f"{action!r} is not an action of the action space {self._space}")
            return action, self._to_event(action)
        action = self._checked_index(action)
        event = self._events.get(action)
        if event is None:
            event = self._events[action] = self._to_event(action)
        return action, event

    def _checked_index(self, action: Any) -> int:
        if isinstance(action, bool | np.bool_):
            raise self._type_error(action)
        try:
            index = operator.index(action)
        except TypeError:
            if isinstance(action, str) and hasattr(self._space, "names"):
                return self._space[action]
            raise self._type_error(action) from None
        start = int(self._space.start)
        end = start + int(self._space.n)
        if not start <= index < end:
            raise ValueError(
                f"Action {index} is not in the range [{start}, {end}) of the action space "
                f"{self._space.name!r}"
            )
        return index

    def _type_error(self, action: Any) -> TypeError:
        start = int(self._space.start)
        end = start + int(self._space.n)
        return TypeError(
            f"Action {action!r} is not an integer. The action space {self._space.name!r} has the "
            f"range [{start}, {end})"
        )
