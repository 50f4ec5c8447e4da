"""What programs do with the classic gym library: steps of four results, and its own of five.

``registration_test.py`` has how environments get there.
"""

import gymnasium
import numpy as np
import pytest

from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.util import registration
from compiler_gym.util.registration import COMPILER_GYM_ENVS, register
from tests.service.toy_service import HELLO, make_toy_env

gym = pytest.importorskip("gym")


@pytest.fixture(autouse=True)
def toy():
    kwargs = {"observation_space": "histogram", "reward_space": "length", "benchmark": HELLO}
    register("toy-v0", entry_point="tests.service.toy_service:make_toy_env", kwargs=kwargs)
    yield
    COMPILER_GYM_ENVS.remove("toy-v0")
    del registration._specs["toy-v0"]


class Doubled(gym.Wrapper):
    """A wrapper as they were written for environments of four results."""

    def step(self, action):
        observation, reward, done, info = self.env.step(action)
        return observation, 2 * reward, done, info


class AlwaysAppend(gym.ActionWrapper):
    """One that needs no more than the action."""

    def action(self, action):
        return self.env.action_space["append-a"]


class TestFourResults:
    def test_plain(self):
        with gym.make("toy-v0") as env:
            assert env.reset().sum() == 5
            observation, reward, done, info = env.step(env.action_space["append-a"])
            assert observation.sum() == reward == 6
            assert not done
            assert not info["action_had_no_effect"]

    def test_wrappers_of_ones_own(self):
        env = Doubled(AlwaysAppend(gym.make("toy-v0")))
        env.reset()
        observation, reward, done, _ = env.step(0)
        assert (observation.sum(), reward, done) == (6, 12, False)
        assert env.benchmark == HELLO  # All attributes are there.
        assert env.multistep([3, 3])[0].sum() == 8
        env.close()

    def test_the_steps_of_an_older_gym(self):
        env = gym.make("toy-v0", apply_api_compatibility=True)
        env = gym.wrappers.StepAPICompatibility(env, output_truncation_bool=False)
        env.reset()
        assert len(env.step(0)) == 4
        env.close()

    def test_order_can_be_enforced(self):
        env = gym.wrappers.OrderEnforcing(gym.make("toy-v0"))
        with pytest.raises(gym.error.ResetNeeded):
            env.step(0)
        env.reset()
        assert len(env.step(0)) == 4
        env.close()


class TestFiveResults:
    """``apply_api_compatibility`` makes environments of gym 0.26 of ours."""

    def test_plain(self):
        env = gym.make("toy-v0", apply_api_compatibility=True)
        observation, info = env.reset(seed=1)
        assert observation.sum() == 5
        assert info == {}
        observation, reward, terminated, truncated, _ = env.step(3)
        assert observation.sum() == reward == 6
        assert (terminated, truncated) == (False, False)
        env.close()

    def test_wrappers(self):
        env = gym.make("toy-v0", apply_api_compatibility=True, max_episode_steps=2, autoreset=True)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env.reset()
        for steps in (1, 2):
            _, _, terminated, truncated, info = env.step(3)
            assert (terminated, truncated) == (False, steps == 2)
        assert info["episode"]["l"] == 2
        assert info["episode"]["r"] == info["final_observation"].sum() == 7
        env.close()

    def test_the_end_of_an_episode(self):
        env = gym.make("toy-v0", apply_api_compatibility=True)
        env.reset()
        _, _, terminated, truncated, _ = env.step(env.env.action_space["end"])
        assert (terminated, truncated) == (True, False)
        env.close()

    def test_converted_by_hand(self):
        env = gym.wrappers.StepAPICompatibility(gym.make("toy-v0"), output_truncation_bool=True)
        env.reset()
        assert len(env.step(3)) == 5
        env.close()


class TestSpacesOfGym:
    """Where people pass them in."""

    def test_derived_observations(self):
        derived = {
            "id": "Share",
            "base_id": "histogram",
            "translate": lambda counts: (counts / max(counts.sum(), 1)).astype(np.float32),
            "space": gym.spaces.Box(0, 1, (26,)),
        }
        with make_toy_env(derived_observation_spaces=[derived], observation_space="Share") as env:
            assert env.observation_space == gymnasium.spaces.Box(0, 1, (26,))
            assert env.reset(benchmark=HELLO) in env.observation_space

    def test_action_spaces(self):
        converters = ServiceMessageConverters(
            action_space_converter=lambda message: gym.spaces.Discrete(5)
        )
        with make_toy_env(service_message_converters=converters) as env:
            env.reset(benchmark=HELLO)
            assert env.action_space == gymnasium.spaces.Discrete(5)
            assert env.action_space.name is None
            assert env.step(3, observation_spaces=["text"])[0] == ["helloa"]
            assert 0 <= env.action_space.sample() < 5
            with pytest.raises(ValueError, match="Action 5 is not in the range"):
                env.step(5)
