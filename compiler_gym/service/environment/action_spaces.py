"""The action spaces of an environment."""

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Discrete, Space

from compiler_gym.compat.classic_gym.spaces import as_gymnasium
from compiler_gym.errors.nearest_names import several_names, unknown_name
from compiler_gym.service.proto import ActionSpace as ActionSpaceProto
from compiler_gym.service.proto import Event, StepRequest
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.spaces import ActionSpace
from compiler_gym.util.random_state import copy_generator, shallow_copy


class ActionEncoder:
    """Checks and encodes the actions of one action space.

    The encoding of integer actions is cached.

    Args:
        space: The action space.
        to_event: Encodes a valid action.
    """

    def __init__(self, space: Any, to_event: Callable[[Any], Event]):
        self._space = space
        self._to_event = to_event
        self._events: dict[int, Event] = {}
        self._steps: dict[int, tuple[list[Event], bytes]] = {}
        # Macros of several actions.
        self._expansions: dict[int, tuple[int, ...]] = getattr(space, "expansions", {})
        # The project's proxies stand in for their space.
        self._is_discrete = isinstance(getattr(space, "wrapped", space), spaces.Discrete)

    def encode(self, actions: Iterable[Any]) -> tuple[list[Any], list[Event]]:
        """Checks and encodes actions.

        Args:
            actions: The actions; integers may be of any integer type, or the names of actions.

        Returns:
            The actions, with integers as plain ``int``, and the messages that encode them: one for
            each action, or several for a macro.

        Raises:
            TypeError: If an action is of a wrong type.
            ValueError: If an action is out of range, or a name does not exist.
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

    def encoded_step(self, action: int) -> tuple[list[Event], bytes]:
        """Checks and encodes the action of a step.

        Args:
            action: The action.

        Returns:
            The messages of :meth:`encode`, which must not be changed, and a serialised
            ``StepRequest`` with these alone.

        Raises:
            ValueError: If the action is out of range.
        """
        step = self._steps.get(action)
        if step is None:
            _, events = self.encode([action])
            step = events, StepRequest(action=events).SerializeToString()
            self._steps[action] = step
        return step

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
            advice = getattr(self._space, "advice_for", lambda index: "")(index)
            raise ValueError(
                f"Action {index} is not in the range [{start}, {end}) of the action space "
                f"{self._space.name!r}{advice}"
            )
        return index

    def _type_error(self, action: Any) -> TypeError:
        start = int(self._space.start)
        end = start + int(self._space.n)
        return TypeError(
            f"Action {action!r} is not an integer. The action space {self._space.name!r} has the "
            f"range [{start}, {end})"
        )


class ActionSpaces:
    """The action spaces that a service offers, and the one in use.

    Args:
        protos: The descriptions of the action spaces, in the order of the service.
        converters: Converts the descriptions to spaces.

    Attributes:
        spaces: All action spaces: those of the service, then those derived from them.
        selected: The number in the service of the action space of the next episode.
        current: The action space of the next action.
        encoder: Encodes actions of the current action space.
    """

    def __init__(self, protos: Sequence[ActionSpaceProto], converters: ServiceMessageConverters):
        self._converters = converters
        offered = [self._convert(proto) for proto in protos]
        self.spaces = list(offered)
        self._numbers = [*range(len(offered))]
        for number, space in enumerate(offered):
            for derived in converters.derived_action_spaces(space):
                self.spaces.append(derived)
                self._numbers.append(number)
        self._encoders = [self._make_encoder(space) for space in self.spaces]
        self.select(None, in_episode=False)

    def _convert(self, proto: ActionSpaceProto) -> Any:
        space = as_gymnasium(self._converters.action_space_converter(proto))
        return space if hasattr(space, "to_string") else ActionSpace(space)

    def _make_encoder(self, space: Any) -> ActionEncoder:
        return ActionEncoder(space, self._converters.encoder_for(space))

    def select(self, name: str | Space[Any] | None, in_episode: bool) -> None:
        """Selects the action space of the next episode.

        Args:
            name: The name or the space, perhaps with macros. None for the first.
            in_episode: True during an episode, which keeps its action space.

        Raises:
            LookupError: If there is no such action space.
        """
        self._place = 0 if name is None else self._place_of(name)
        self.selected = self._numbers[self._place]
        self._selected_space = self._space_to_use(name)
        if not in_episode:
            self.begin_episode()

    @property
    def next_space(self) -> Any:
        """The action space at the beginning of the next episode."""
        return self._selected_space

    def _space_to_use(self, wanted: Any) -> Any:
        """Returns a user's space if it has macros, else the space of the service."""
        offered = self.spaces[self._place]
        if not getattr(wanted, "expansions", None):
            return offered
        if wanted.names[: len(offered.names)] != offered.names:
            raise LookupError(
                f"The macros are of another action space {wanted.name!r} than that of the service"
            )
        return wanted

    def index_of(self, name: str | Space[Any]) -> int:
        """Returns the number in the service of an action space.

        Args:
            name: Its name, or itself.

        Raises:
            LookupError: If there is no such action space.
            TypeError: If it is a list of names.
        """
        return self._numbers[self._place_of(name)]

    def _place_of(self, name: str | Space[Any]) -> int:
        """Returns the place of an action space in :attr:`spaces`. Raises as :meth:`index_of`."""
        if isinstance(name, list | tuple):
            raise several_names("action", name)
        names = [space.name for space in self.spaces]
        wanted = name if isinstance(name, str) else getattr(name, "name", None)
        if wanted not in names:
            raise unknown_name("action space", name if wanted is None else wanted, names)
        return names.index(wanted)

    def begin_episode(self) -> None:
        """Switches to the selected action space."""
        self.current = self._selected_space
        if self.current is self.spaces[self._place]:
            self.encoder = self._encoders[self._place]
        else:
            self.encoder = self._make_encoder(self.current)

    def replace(self, proto: ActionSpaceProto) -> None:
        """Switches to another action space for the rest of the episode."""
        self.current = self._convert(proto)
        self.encoder = self._make_encoder(self.current)

    def copy(self) -> "ActionSpaces":
        """Returns the same spaces for a fork: they sample the same actions, independently."""
        clone = shallow_copy(self)
        originals = [*self.spaces, self._selected_space, self.current]
        # These are usually the same.
        distinct = {id(space): space for space in originals}
        copies = {number: copy_space(space) for number, space in distinct.items()}
        clone.spaces = [copies[id(space)] for space in self.spaces]
        clone._selected_space = copies[id(self._selected_space)]
        clone.current = copies[id(self.current)]
        return clone


def copy_space(space: Any) -> Any:
    """Returns an independent copy of a space, with the same random state."""
    if isinstance(space, ActionSpace):
        return ActionSpace(copy_space(space.wrapped))
    if not isinstance(space, Discrete):
        return copy.deepcopy(space)
    # Only the random state of these changes, and some have many names.
    clone = shallow_copy(space)
    if clone._np_random is not None:
        clone._np_random = copy_generator(clone._np_random)
    return clone
