"""Conversion between spaces of the classic gym library and of gymnasium."""

import sys
from functools import cache
from typing import Any

from gymnasium import spaces


def as_gymnasium(space: Any) -> spaces.Space[Any]:
    """Converts a space of gym to gymnasium.

    Spaces of gymnasium, including ours, are returned unchanged. So are objects that are no spaces,
    which fail where they are used.

    Args:
        space: The space: a Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Text or
            Tuple of gym.

    Raises:
        TypeError: If gymnasium has no such space.
    """
    # There are spaces of gym only after it was imported.
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
        f"{space!r} is a {type(space).__name__} of gym, which gymnasium does not have; "
        "derive it from gymnasium.Space"
    )


def as_classic_gym(space: Any) -> Any:
    """Converts a space of gymnasium to gym.

    Names of actions are kept. A space that gym does not have is returned unchanged, which works
    for sampling and ``contains()``.
    """
    gym: Any = sys.modules["gym.spaces"]  # The callers have imported it.

    space = getattr(space, "wrapped", space)  # An ActionSpace wraps one.
    if isinstance(space, spaces.Dict):
        return gym.Dict([(key, as_classic_gym(child)) for key, child in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return gym.Tuple([as_classic_gym(child) for child in space.spaces])
    if isinstance(space, spaces.Box):
        return gym.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space, spaces.Discrete):
        return _named(space)
    if isinstance(space, spaces.MultiBinary):
        return gym.MultiBinary(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return gym.MultiDiscrete(space.nvec, dtype=space.dtype)
    return space


def _named(space: Any) -> Any:
    return _with_names(sys.modules["gym.spaces"].Discrete)(space)


@cache
def _with_names(discrete: Any) -> Any:
    """Derives a class from ``Discrete`` of gym that also has the attributes of our space."""

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

        def __reduce__(self) -> Any:
            return _named, (self._space,)

    return NamedDiscrete
