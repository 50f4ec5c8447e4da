"""Spaces of actions, observations and rewards.

All are ``gymnasium`` spaces with a ``name`` that takes part in equality.
"""

from compiler_gym.errors.nearest_names import UnknownNameError
from compiler_gym.spaces.action_space import ActionSpace
from compiler_gym.spaces.box import Box
from compiler_gym.spaces.commandline import Commandline, CommandlineFlag
from compiler_gym.spaces.dict import Dict
from compiler_gym.spaces.discrete import Discrete
from compiler_gym.spaces.named_discrete import NamedDiscrete
from compiler_gym.spaces.permutation import Permutation
from compiler_gym.spaces.reward import DefaultRewardFromObservation, Reward, RuntimeReward
from compiler_gym.spaces.scalar import Scalar
from compiler_gym.spaces.sequence import Sequence
from compiler_gym.spaces.space_sequence import SpaceSequence, SpaceUnion
from compiler_gym.spaces.tuple import Tuple

__all__ = [
    "ActionSpace",
    "Box",
    "Commandline",
    "CommandlineFlag",
    "DefaultRewardFromObservation",
    "Dict",
    "Discrete",
    "NamedDiscrete",
    "Permutation",
    "Reward",
    "RuntimeReward",
    "Scalar",
    "Sequence",
    "SpaceSequence",
    "SpaceUnion",
    "Tuple",
    "UnknownNameError",
]
