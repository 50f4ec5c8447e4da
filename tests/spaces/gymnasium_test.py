"""All spaces pass gymnasium's check of an environment."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from compiler_gym.spaces import (
    ActionSpace,
    Box,
    Commandline,
    CommandlineFlag,
    Dict,
    Discrete,
    NamedDiscrete,
    Permutation,
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
    Tuple,
)

SPACES = [
    ActionSpace(NamedDiscrete(["a", "b"], "x")),
    Box(0, 5, "x", shape=(2,), dtype=np.int64),
    Commandline([CommandlineFlag("a", "-a", "")], "x"),
    Dict({"a": Discrete(3), "b": Scalar("s", 0, 1)}, "x"),
    Discrete(3, "x"),
    NamedDiscrete(["a", "b"], "x"),
    Permutation("x", Scalar("r", 0, 4, np.int64)),
    Scalar("x", 0, 1),
    Sequence("x", dtype=str),
    Sequence("x", dtype=np.int8),
    SpaceSequence("x", Discrete(3)),
    SpaceUnion([Discrete(3), Sequence(dtype=str)], "x"),
    Tuple([Discrete(3), Sequence(dtype=bytes)], "x"),
]


class Echo(gymnasium.Env):
    """Observations and actions are samples of one space."""

    def __init__(self, space):
        self.observation_space = self.action_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        assert action in self.action_space
        return self.observation_space.sample(), 0.0, False, False, {}


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_check_env(space):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The only advice for an environment that is not made from its id, or has such actions.
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space.*")
        check_env(Echo(space))
