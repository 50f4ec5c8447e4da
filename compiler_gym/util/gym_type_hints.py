"""Names of the types that environments use."""

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
