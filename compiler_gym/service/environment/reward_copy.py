"""Copies of rewards, for forks."""

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from compiler_gym.spaces import Reward
from compiler_gym.util.shallow_copy import shallow_copy

_DTYPES = (type(np.dtype(kind)) for kind in (bool, np.int64, np.float32, np.float64))
_IMMUTABLE = frozenset((type(None), bool, int, float, str, np.float64, np.int64, *_DTYPES))


def copy_reward(reward: Reward, counterparts: Mapping[int, Any]) -> Reward:
    """Returns a reward that remembers the same and goes on independently.

    The same as ``copy.deepcopy``, which is slow where nothing but numbers are remembered.

    Args:
        reward: The reward.
        counterparts: What stands for which object in the copy, by the object's ``id``: for an
            environment its fork.
    """
    if _is_shallow(type(reward)):  # type: ignore[arg-type]  # Classes can be hashed.
        clone = shallow_copy(reward)
        clone.observation_spaces = clone.observation_spaces[:]
        return clone
    memo = dict(counterparts)
    if not _is_plain(type(reward)):  # type: ignore[arg-type]  # Likewise.
        return copy.deepcopy(reward, memo)
    clone = shallow_copy(reward)
    remembered = clone.__dict__
    for name, value in reward.__dict__.items():
        if type(value) not in _IMMUTABLE:
            remembered[name] = _copy(value, memo)
    return clone


@cache
def _is_shallow(reward_class: type[Reward]) -> bool:
    """Says whether a class says so of itself. It cannot know that of classes derived from it."""
    return bool(vars(reward_class).get("copies_are_shallow"))


@cache
def _is_plain(reward_class: type) -> bool:
    """Says whether all that an object has is in its ``__dict__``, and copied as any other's."""
    return not hasattr(reward_class, "__deepcopy__") and not any(
        vars(base).get("__slots__") for base in reward_class.__mro__
    )


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    if type(value) in (list, tuple) and _IMMUTABLE.issuperset(map(type, value)):
        return value[:]
    return copy.deepcopy(value, memo)
