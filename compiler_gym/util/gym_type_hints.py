"""Names of the types that environments use, and the two forms of a step's result."""

from enum import Enum
from typing import Any, TypeVar


class OptionalArgumentValue(Enum):
    """Stands for an argument that was not given, where None has a meaning of its own."""

    UNCHANGED = 1


ActionType = TypeVar("ActionType")
"""What is done in a step: an element of the action space."""

ObservationType = TypeVar("ObservationType")
"""What is observed: an element of the observation space."""

RewardType = float
"""How good a step was."""

DoneType = bool
"""Whether the episode has ended."""

InfoType = dict[str, Any]
"""What else there is to say about a step."""

JsonDictType = dict[str, Any]
"""What ``json`` reads and writes."""

StepType = tuple[Any, Any, DoneType, InfoType]
"""What steps return: observation, reward, done, info.

Observation and reward are lists if several were asked for.
"""

FiveResults = tuple[Any, Any, bool, bool, InfoType]
"""What steps of gymnasium return: observation, reward, terminated, truncated, info."""

TRUNCATED = "TimeLimit.truncated"
"""The key of the info that tells truncation from termination, where a step has four results."""


def five_results(result: StepType) -> FiveResults:
    """Returns the result of a step with truncation apart from termination."""
    observation, reward, done, info = result
    truncated = done and bool(info.get(TRUNCATED))
    return observation, reward, done and not truncated, truncated, info


def four_results(result: FiveResults) -> StepType:
    """Returns the result of a step with one end of an episode, and its kind in the info."""
    observation, reward, terminated, truncated, info = result
    if truncated:
        info = {**info, TRUNCATED: not terminated}
    return observation, reward, terminated or truncated, info
