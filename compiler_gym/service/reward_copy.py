"""Copies of rewards, for forks."""

import copy
from typing import Any

import numpy as np

from compiler_gym.datasets import Benchmark
from compiler_gym.spaces import Reward

_IMMUTABLE = frozenset((type(None), bool, int, float, str, np.float64, np.int64))


def copy_reward(reward: Reward, benchmark: Benchmark | None) -> Reward:
    """Returns a reward that remembers the same and goes on independently.

    The same as ``copy.deepcopy``, which is slow where nothing but numbers are remembered.

    Args:
        reward: The reward.
        benchmark: The benchmark of the episode. It is shared, because it cannot change and may be
            large.
    """
    memo: dict[int, Any] = {id(benchmark): benchmark}
    if hasattr(reward, "__deepcopy__"):
        return copy.deepcopy(reward, memo)
    clone = copy.copy(reward)
    for name, value in vars(reward).items():
        if type(value) not in _IMMUTABLE:
            setattr(clone, name, copy.deepcopy(value, memo))
    return clone
