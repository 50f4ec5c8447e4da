"""The action spaces of an environment."""

import copy
from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Discrete, Space

from compiler_gym.compat.gym_spaces import as_gymnasium
from compiler_gym.service.environment.action_encoder import ActionEncoder
from compiler_gym.service.proto import ActionSpace as ActionSpaceProto
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.spaces import ActionSpace
from compiler_gym.util.nearest_names import unknown_name
from compiler_gym.util.random_state import copy_generator
from compiler_gym.util.shallow_copy import shallow_copy


class ActionSpaces:
    """The action spaces that a service offers, and the one in use.

    Args:
        protos: The descriptions of the action spaces, in the order of the service.
        converters: What to make of them.

    Attributes:
        spaces: All action spaces.
        selected: The number of the action space of the next episode.
        current: The action space of the actions that can follow now.
        encoder: Encodes those actions.
    """

    def __init__(self, protos: Sequence[ActionSpaceProto], converters: ServiceMessageConverters):
        self._converters = converters
        self.spaces = [self._convert(proto) for proto in protos]
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
            name: Its name, or itself, perhaps with macros. None for the first.
            in_episode: Whether there is an episode, which keeps the action space that it has.

        Raises:
            LookupError: If there is no such action space.
        """
        self.selected = 0 if name is None else self.index_of(name)
        self._selected_space = self._space_to_use(name)
        if not in_episode:
            self.begin_episode()

    def _space_to_use(self, wanted: Any) -> Any:
        """Returns a space with the user's macros as it is, and else the space of the service."""
        offered = self.spaces[self.selected]
        if not getattr(wanted, "expansions", None):
            return offered
        if wanted.names[: len(offered.names)] != offered.names:
            raise LookupError(
                f"The macros are of another action space {wanted.name!r} than that of the service"
            )
        return wanted

    def index_of(self, name: str | Space[Any]) -> int:
        """Returns the number of an action space.

        Args:
            name: Its name, or itself.

        Raises:
            LookupError: If there is no such action space.
        """
        names = [space.name for space in self.spaces]
        wanted = name if isinstance(name, str) else getattr(name, "name", None)
        if wanted not in names:
            raise unknown_name("action space", wanted, names)
        return names.index(wanted)

    def begin_episode(self) -> None:
        """Puts the selected action space to use."""
        self.current = self._selected_space
        if self.current is self.spaces[self.selected]:
            self.encoder = self._encoders[self.selected]
        else:
            self.encoder = self._make_encoder(self.current)

    def replace(self, proto: ActionSpaceProto) -> None:
        """Puts another action space to use, for the rest of the episode."""
        self.current = self._convert(proto)
        self.encoder = self._make_encoder(self.current)

    def copy(self) -> "ActionSpaces":
        """Returns the same spaces for a fork: they sample the same actions, independently."""
        clone = shallow_copy(self)
        originals = [*self.spaces, self._selected_space, self.current]
        # Most of the time these are the same.
        distinct = {id(space): space for space in originals}
        copies = {number: copy_space(space) for number, space in distinct.items()}
        clone.spaces = [copies[id(space)] for space in self.spaces]
        clone._selected_space = copies[id(self._selected_space)]
        clone.current = copies[id(self.current)]
        return clone


def copy_space(space: Any) -> Any:
    """Returns a space that goes on with the same random numbers, independently."""
    if isinstance(space, ActionSpace):
        return ActionSpace(copy_space(space.wrapped))
    if not isinstance(space, Discrete):
        return copy.deepcopy(space)
    # Nothing else of these changes, and some have many names.
    clone = shallow_copy(space)
    if clone._np_random is not None:
        clone._np_random = copy_generator(clone._np_random)
    return clone
