"""Autophase features divided by the size of the program."""

import numpy as np

from compiler_gym.envs import GymnasiumEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.wrappers import AutophaseNorm

TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")


def test_values(env):
    env = AutophaseNorm(env)
    observation = env.reset()
    counts = env.observation["Autophase"]
    size = counts[TOTAL]
    assert size > 1
    np.testing.assert_allclose(observation, counts / size, rtol=1e-6)
    assert (observation.dtype, observation[TOTAL]) == (np.float32, 1)
    # Further on, the divisor is the same.
    observation = env.step(env.action_space["mem2reg"])[0]
    counts = env.observation["Autophase"]
    assert counts[TOTAL] < size
    np.testing.assert_allclose(observation, counts / size, rtol=1e-6)
    assert observation in env.observation_space


def test_each_episode_has_its_divisor(env):
    env = AutophaseNorm(env)
    for name in ("fft", "sha256", "fft"):
        assert env.reset(f"benchmark://kernels-v0/{name}")[TOTAL] == 1


def test_another_observation(env):
    env = AutophaseNorm(env)
    count = env.reset(observation_space="IrInstructionCount")
    assert env.observation_space.contains(count)
    assert count == env.observation["IrInstructionCount"]
    env.observation_space = "Autophase"
    assert env.observation_space.name == "AutophaseNorm"
    assert env.reset()[TOTAL] == 1
    env.observation_space = None
    assert env.reset() is env.observation_space is None


def test_failure(env):
    env = GymnasiumEnv(AutophaseNorm(env))
    first, _ = env.reset()
    observation, _, terminated, truncated, _ = env.step(0, timeout=1e-6)
    assert (terminated, truncated) == (False, True)
    np.testing.assert_array_equal(observation, first)
