"""Observations of what has been done in an episode."""

import numpy as np
import pytest

from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.wrappers import (
    ActionHistogram,
    AutophaseNorm,
    ConstrainedCommandline,
    ForkOnStep,
    LastActions,
)

FEATURES = len(AUTOPHASE_FEATURE_NAMES)
PASSES = ["mem2reg", "gvn", "simplifycfg"]


def one_hot(*actions, size=3):
    return [float(action == i) for action in actions for i in range(size)]


@pytest.fixture
def few(small):
    """The environment with three actions."""
    return ConstrainedCommandline(small, PASSES)


class TestActionHistogram:
    def test_counts(self, few):
        env = ActionHistogram(few)
        assert env.reset().tolist() == [0, 0, 0]
        assert env.step(1)[0].tolist() == [0, 1, 0]
        assert env.multistep([1, 2])[0].tolist() == [0, 2, 1]
        assert env.reset().tolist() == [0, 0, 0]

    def test_divisor(self, few):
        env = ActionHistogram(few, divisor=4)
        env.reset()
        assert env.multistep([0, 0, 1])[0].tolist() == [0.5, 0.25, 0]
        for divisor in (0, -1, float("nan")):
            with pytest.raises(ValueError, match="divisor"):
                ActionHistogram(few, divisor)

    def test_beside_the_default_observation(self, few):
        few.observation_space = "Autophase"
        env = ActionHistogram(few)
        env.reset()
        observation = env.step(0)[0]
        assert observation.dtype == np.float32
        np.testing.assert_array_equal(observation[:FEATURES], env.observation["Autophase"])
        assert observation[FEATURES:].tolist() == [1, 0, 0]
        assert observation in env.observation_space
        assert env.observation_space.shape == (FEATURES + 3,)
        assert (env.observation_space.low.min(), env.observation_space.high[-1]) == (0, np.inf)

    def test_actions_that_are_undone_do_not_count(self, few):
        env = ForkOnStep(ActionHistogram(few))
        env.reset()
        env.step(0)
        env.step(1)
        env.undo()
        assert env.step(2)[0].tolist() == [1, 0, 1]
        inside = ActionHistogram(ForkOnStep(few))
        inside.reset()
        inside.step(0)
        inside.undo()
        assert inside.step(2)[0].tolist() == [0, 0, 1]

    def test_spaces_without_a_vector(self, few):
        env = ActionHistogram(few)
        with pytest.raises(TypeError, match=r"ActionHistogram.*Autophase"):
            env.reset(observation_space="Ir")
        env.observation_space = "AutophaseDict"
        assert env.reset().shape == env.observation_space.shape == (FEATURES + 3,)

    def test_autophase_norm_belongs_inside(self, few):
        env = ActionHistogram(AutophaseNorm(few))
        assert env.reset() in env.observation_space
        with pytest.raises(ValueError, match="belongs inside"):
            AutophaseNorm(ActionHistogram(few))


class TestLastActions:
    def test_around_a_histogram(self, few):
        env = LastActions(ActionHistogram(AutophaseNorm(few)))
        env.reset()
        env.step(0)
        observation = env.step(1)[0]
        assert observation[FEATURES:].tolist() == [1, 1, 0, *one_hot(1)]
        with env.fork() as fork:
            np.testing.assert_array_equal(fork.step(2)[0], env.step(2)[0])
