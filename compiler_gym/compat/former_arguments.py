"""Former names of arguments."""

import warnings
from typing import Any


def former_names(
    observation_spaces: Any, reward_spaces: Any, observations: Any, rewards: Any
) -> tuple[Any, Any]:
    """Returns the spaces of a step, from the current or the former names of its arguments.

    Former names give a warning, which points to the caller of the calling method.
    """
    if observations is None and rewards is None:
        return observation_spaces, reward_spaces
    warnings.warn(
        "The arguments observations and rewards are deprecated. Use observation_spaces and "
        "reward_spaces",
        DeprecationWarning,
        stacklevel=3,
    )
    return (
        observations if observation_spaces is None else observation_spaces,
        rewards if reward_spaces is None else reward_spaces,
    )
