"""Wrappers that convert, around an LLVM environment and around each other."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.wrappers import ActionWrapper, ObservationWrapper, RewardWrapper

PASSES = ["mem2reg", "instcombine", "simplifycfg"]


class Few(ActionWrapper):
    """Offers three passes."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(len(PASSES))

    def action(self, action):
        return self.env.action_space[PASSES[action]]

    def reverse_action(self, action):
        return [self.env.action_space[name] for name in PASSES].index(action)


class Share(ObservationWrapper):
    """Autophase as shares of the number of instructions."""

    def __init__(self, env):
        super().__init__(env)
        self.env.observation_space = "Autophase"
        self.observation_space = gymnasium.spaces.Box(0, np.inf, shape=(56,), dtype=np.float32)

    def convert_observation(self, observation):
        return (observation / max(observation[51], 1)).astype(np.float32)


class Doubled(RewardWrapper):
    def convert_reward(self, reward):
        return 2 * reward


class TestActions:
    def test_actions_are_those_of_the_environment_inside(self, small):
        env = Few(small)
        env.reset()
        inside = [small.action_space[name] for name in PASSES]
        env.step(0)
        env.multistep([1, 2])
        assert small.actions == env.actions == inside
        assert [env.reverse_action(action) for action in inside] == [0, 1, 2]
        assert env.commandline() == small.commandline()

    def test_spaces_of_the_environment_inside(self, small):
        env = Few(small)
        env.action_space = "PassesAll"
        assert env.action_space is small.action_space
        env.action_space = env.action_space.with_macros({"both": ["mem2reg", "instcombine"]})
        assert env.action_space is small.action_space
        assert small.action_space["both"] == small.action_space.n - 1

    def test_nothing_to_reverse_with(self, small):
        class Identity(ActionWrapper):
            def action(self, action):
                return action

        with pytest.raises(NotImplementedError, match=r"Identity.*reverse_action"):
            Identity(small).reverse_action(0)


class TestObservations:
    def test_default_observation(self, small):
        env = Share(small)
        observation = env.reset()
        assert observation.dtype == np.float32
        assert env.observation_space.contains(observation)
        assert observation[51] == 1
        mem2reg = env.action_space["mem2reg"]
        assert env.step(mem2reg)[0][51] == 1
        assert env.observation["Autophase"][51] > 1

    def test_values_by_name_are_not_converted(self, small):
        env = Share(small)
        env.reset()
        observations = env.step(0, observation_spaces=["IrInstructionCount", "Autophase"])[0]
        assert observations[0] == observations[1][51]

    def test_nothing_is_no_observation(self, small):
        class Forgetful(ObservationWrapper):
            def convert_observation(self, observation):
                pass

        env = Forgetful(small)
        assert env.reset() is None  # There is no default observation.
        env.observation_space = "Autophase"
        with pytest.raises(TypeError, match=r"from Forgetful\.convert_observation\(\), got None"):
            env.reset()

    def test_setting_the_inner_observation_space(self, small):
        env = Share(small)
        env.observation_space = "InstCount"
        assert small.observation_space_spec == "InstCount"
        assert env.observation_space is small.observation_space


class TestRewards:
    def test_reward_of_the_episode(self, small):
        small.reward_space = "IrInstructionCount"
        env = Doubled(small)
        env.reset()
        mem2reg = env.action_space["mem2reg"]
        with env.fork() as plain, plain.env as inside:
            expected = inside.step(mem2reg)[1]
        assert expected > 0
        assert env.step(mem2reg)[1] == 2 * expected
        assert env.episode_reward == env.state.reward == 2 * expected
        with env.fork() as fork:
            more = fork.step(fork.action_space["simplifycfg"])[1]
            assert fork.episode_reward == 2 * expected + more
        assert env.episode_reward == 2 * expected

    @pytest.mark.parametrize("value", [None, "1"])
    def test_what_is_no_number(self, small, value):
        class Wrong(RewardWrapper):
            def convert_reward(self, reward):
                return value

        env = Wrong(small)
        env.reset(reward_space="IrInstructionCount")
        with pytest.raises(TypeError, match=rf"from Wrong\.convert_reward\(\), got {value!r}"):
            env.step(0)

    def test_around_each_other(self, small):
        small.reward_space = "IrInstructionCount"
        env = Doubled(Doubled(small))
        env.reset()
        reward = env.step(env.action_space["mem2reg"])[1]
        assert env.episode_reward == env.state.reward == reward
        small.reset()
        assert reward == 4 * small.step(small.action_space["mem2reg"])[1] > 0
        assert env.episode_reward == reward / 4

    def test_validation_leaves_the_reward_out(self, small):
        small.reward_space = "IrInstructionCount"
        env = Doubled(small)
        env.reset()
        env.step(env.action_space["mem2reg"])
        state = env.state
        for result in (env.validate(), env.validate(state)):
            assert result.okay() and not result.reward_validated
            assert result.state == state and result.state.reward == env.episode_reward > 0
        # What the environment inside can repeat is compared there.
        assert small.validate().reward_validation_failed


@pytest.mark.parametrize("wrapper", [ActionWrapper, ObservationWrapper, RewardWrapper])
def test_methods_that_are_not_overridden_change_nothing(small, wrapper):
    """Programs of former releases override what they need."""

    class Own(wrapper):
        def reset(self, *args, **kwargs):
            return super().reset(*args, **kwargs)

    small.observation_space = "IrInstructionCount"
    small.reward_space = "IrInstructionCount"
    expected = small.reset(), small.step("mem2reg")[:3]
    for env in (wrapper(small), Own(small)):
        assert (env.reset(), env.step("mem2reg")[:3]) == expected
