"""Spaces of the classic gym library, where people pass them in."""

import sys
from functools import cache
from typing import Any

from gymnasium import spaces


def as_gymnasium(space: Any) -> spaces.Space[Any]:
    """Returns the space of gymnasium with the same values as one of gym.

    Spaces of gymnasium, ours among them, are returned as they are. So is what is no space at all:
    whoever puts it to use refuses it.

    Args:
        space: The space: a Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Text or
            Tuple of gym.

    Raises:
        TypeError: If it is another space of gym.
    """
    # Whoever has a space of gym has imported the library.
    gym = sys.modules.get("gym.spaces")
    if gym is None or isinstance(space, spaces.Space) or not isinstance(space, gym.Space):
        return space
    if isinstance(space, gym.Dict):
        return spaces.Dict([(key, as_gymnasium(child)) for key, child in space.spaces.items()])
    if isinstance(space, gym.Tuple):
        return spaces.Tuple([as_gymnasium(child) for child in space.spaces])
    if isinstance(space, gym.Box):
        return spaces.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space, gym.Discrete):
        return spaces.Discrete(int(space.n), start=int(space.start))
    if isinstance(space, gym.MultiBinary):
        return spaces.MultiBinary(space.n)
    if isinstance(space, gym.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec, dtype=space.dtype)
    if isinstance(space, gym.Sequence):
        return spaces.Sequence(as_gymnasium(space.feature_space))
    if isinstance(space, gym.Text):
        charset = "".join(space.character_list)
        return spaces.Text(space.max_length, min_length=space.min_length, charset=charset)
    raise TypeError(
        f"{space!r} is a {type(space).__name__} of gym, for which gymnasium has no space of the "
        "same values: derive it from gymnasium.Space"
    )


def as_classic_gym(space: Any) -> Any:
    """Returns the space of gym with the same values as one of gymnasium.

    One whose actions have names goes on knowing them. What gym has no space for is returned as it
    is; whatever only draws samples of it, or asks whether it contains something, works with it.
    """
    gym: Any = sys.modules["gym.spaces"]  # Whoever calls this has imported it.

    space = getattr(space, "wrapped", space)  # That of an ActionSpace.
    if isinstance(space, spaces.Dict):
        return gym.Dict([(key, as_classic_gym(child)) for key, child in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return gym.Tuple([as_classic_gym(child) for child in space.spaces])
    if isinstance(space, spaces.Box):
        return gym.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space, spaces.Discrete):
        return _with_names(gym.Discrete)(space)
    if isinstance(space, spaces.MultiBinary):
        return gym.MultiBinary(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return gym.MultiDiscrete(space.nvec, dtype=space.dtype)
    return space


@cache
def _with_names(discrete: Any) -> Any:
    """Derives a class from the ``Discrete`` of gym that has what else a space of ours has."""

    class NamedDiscrete(discrete):  # type: ignore[misc]
        def __init__(self, space: Any):
            super().__init__(int(space.n), start=int(space.start))
            self._space = space

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self._space, name)

        def __getitem__(self, key: Any) -> Any:
            return self._space[key]

    return NamedDiscrete
