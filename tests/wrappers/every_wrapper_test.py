"""Tests of properties of all wrappers: with LLVM environments, nested, and with gymnasium."""

import math

import gymnasium
import numpy as np
import pytest

from compiler_gym import wrappers
from compiler_gym.envs import GymnasiumEnv
from compiler_gym.envs.compiler_env import waits_for_steps
from compiler_gym.envs.llvm import with_dynamic_config
from compiler_gym.wrappers import (
    ActionWrapper,
    CompilerEnvWrapper,
    ObservationWrapper,
    RewardWrapper,
)

URIS = ["benchmark://kernels-v0/fft", "benchmark://kernels-v0/life"] * 50


class SameAction(ActionWrapper):
    def action(self, action):
        return action

    def reverse_action(self, action):
        return action


class SameObservation(ObservationWrapper):
    def convert_observation(self, observation):
        return observation


class SameReward(RewardWrapper):
    def convert_reward(self, reward):
        return reward


MAKERS = {name: getattr(wrappers, name) for name in wrappers.__all__} | {
    "ActionWrapper": SameAction,
    "ConstrainedCommandline": lambda env: wrappers.ConstrainedCommandline(
        env, ["mem2reg", "gvn", "simplifycfg"]
    ),
    "CycleOverBenchmarks": lambda env: wrappers.CycleOverBenchmarks(env, URIS),
    "CycleOverBenchmarksIterator": lambda env: wrappers.CycleOverBenchmarksIterator(
        env, lambda: URIS
    ),
    "IterateOverBenchmarks": lambda env: wrappers.IterateOverBenchmarks(env, URIS),
    "Macros": lambda env: wrappers.Macros(env, [["mem2reg"], ["gvn"], ["sroa", "simplifycfg"]]),
    "ObservationWrapper": SameObservation,
    "RandomOrderBenchmarks": lambda env: wrappers.RandomOrderBenchmarks(env, URIS),
    "RewardWrapper": SameReward,
    "RuntimePointEstimateReward": lambda env: wrappers.RuntimePointEstimateReward(env, 1),
    "SynchronousSqliteLogger": lambda env: wrappers.SynchronousSqliteLogger(env, "states.db"),
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 2),
}
MEASURES = "RuntimePointEstimateReward"


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runnable(small, program):
    """The environment, whose program can be run."""
    small.benchmark = with_dynamic_config(program, build="touch a.out", run="true")
    return small


class Recording(CompilerEnvWrapper):
    """Remembers what it is called with."""

    def reset(self, *args, **kwargs):
        self.seen = {"reset": kwargs}
        return super().reset(*args, **kwargs)

    def multistep(self, actions, observation_spaces=None, reward_spaces=None, **kwargs):
        self.seen["multistep"] = (list(actions), observation_spaces, reward_spaces, kwargs)
        return super().multistep(
            self.seen["multistep"][0], observation_spaces, reward_spaces, **kwargs
        )


@pytest.mark.parametrize("name", MAKERS)
class TestOne:
    def test_arguments_reach_the_environment(self, runnable, name):
        inner = Recording(runnable)
        env = MAKERS[name](inner)
        options = {"observation_space": "IrInstructionCount", "timeout": 100}
        count = np.ravel(env.reset(**options))[0]
        assert inner.seen["reset"] == options
        assert count == env.observation["IrInstructionCount"] > 0
        mem2reg = env.action_space["mem2reg"]
        inside = runnable.action_space["mem2reg"]
        result = env.step(mem2reg, ["InstCount"], ["IrInstructionCount"], timeout=50)
        assert inner.seen["multistep"] == (
            [inside],
            ["InstCount"],
            ["IrInstructionCount"],
            {"timeout": 50},
        )
        assert len(result[0]) == len(result[1]) == 1
        env.multistep(iter([mem2reg, mem2reg]), timeout=25)
        assert inner.seen["multistep"] == ([inside] * 2, None, None, {"timeout": 25})
        with pytest.deprecated_call():
            assert len(env.step(mem2reg, observations=["Ir"])[0]) == 1

    def test_fork(self, runnable, name):
        if name != MEASURES:
            runnable.reward_space = "IrInstructionCount"
        env = MAKERS[name](runnable)
        env.reset()
        mem2reg, gvn = env.action_space["mem2reg"], env.action_space["gvn"]
        env.step(mem2reg)
        with env.fork() as fork:
            assert type(fork) is type(env)
            assert fork.state == env.state
            assert math.isclose(fork.episode_reward, env.episode_reward)
            reward = fork.step(gvn)[1]
            assert (len(fork.actions), len(env.actions)) == (2, 1)
            assert fork.action_space == env.action_space
        assert env.in_episode
        result = env.step(gvn)
        assert name == MEASURES or result[1] == reward
        np.testing.assert_array_equal(result[0], env.multistep([])[0])

    def test_behind_gymnasium(self, runnable, name):
        env = GymnasiumEnv(MAKERS[name](runnable))
        observation, info = env.reset(seed=3)
        assert env.observation_space.contains(observation)
        assert info["benchmark"] == str(env.benchmark)
        assert ("action_mask" in info) == (name == "ActionMask")
        assert len(info) == 1 + (name == "ActionMask")
        result = env.step(env.action_space["mem2reg"])
        assert result[2:4] == (False, False)
        with env.fork() as fork:
            assert fork.actions == env.actions
        env.close()
        assert not env.in_episode


@pytest.mark.parametrize("name", MAKERS)
def test_environments_step_at_the_same_time(runnable, name):
    """In vector environments."""
    env = MAKERS[name](runnable)
    assert not waits_for_steps(env)
    env.reset(reward_space="IrInstructionCount")
    mem2reg = env.action_space["mem2reg"]
    with env.fork() as fork:
        expected = fork.multistep([mem2reg], timeout=300)
        result = env.begin_multistep([mem2reg]).result()
        np.testing.assert_equal(result, expected)
        assert env.actions == fork.actions


@pytest.mark.parametrize("name", MAKERS)
def test_they_go_inside_of_environments_of_gymnasium(runnable, name):
    env = GymnasiumEnv(runnable)
    assert MAKERS[name](env) is env
    assert isinstance(env.compiler_env, CompilerEnvWrapper)
    assert env.compiler_env.env is runnable


@pytest.mark.parametrize("name", MAKERS)
def test_environments_of_other_libraries_are_refused(name):
    with pytest.raises(TypeError, match=r"compiler_gym\.make.*GymnasiumEnv"):
        MAKERS[name](gymnasium.Env())
