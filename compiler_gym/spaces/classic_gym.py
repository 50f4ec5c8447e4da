"""Spaces of the classic gym library, where people pass them in."""

import sys
from typing import Any

from gymnasium import spaces


def as_gymnasium(space: Any) -> spaces.Space[Any]:
    """Returns the space of gymnasium with the same values as one of gym.

    Spaces of gymnasium, ours among them, are returned as they are. So is what is no space at all:
    whoever puts it to use refuses it.

    Args:
        space: The space: a Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text or Tuple of gym.

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
    if isinstance(space, gym.Text):
        charset = "".join(space.character_list)
        return spaces.Text(space.max_length, min_length=space.min_length, charset=charset)
    raise TypeError(
        f"{space!r} is a {type(space).__name__} of gym, for which gymnasium has no space of the "
        "same values: derive it from gymnasium.Space"
    )
