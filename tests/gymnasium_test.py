"""Environments as users of gymnasium and of gym meet them."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.envs import GymnasiumEnv
from compiler_gym.util import registration
from compiler_gym.util.registration import COMPILER_GYM_ENVS, register
from compiler_gym.wrappers import FloatObservations
from tests.service.toy_service import HELLO

APPEND_A, NO_OP, FAIL = 3, 4, 7


@pytest.fixture
def toy_id():
    register(
        id="toy-v0",
        entry_point="tests.service.toy_service:make_toy_env",
        kwargs={"observation_space": "histogram", "reward_space": "length"},
    )
    yield "toy-v0"
    COMPILER_GYM_ENVS.remove("toy-v0")
    del registration._specs["toy-v0"]
    del gymnasium.registry["toy-v0"]


class TestGymnasium:
    def test_make(self, toy_id):
        with gymnasium.make(toy_id) as env:
            assert type(env) is GymnasiumEnv
            assert env.spec.id == toy_id
            assert env.compiler_env.spec.id == toy_id
            observation, _ = env.reset(options={"benchmark": HELLO})
            assert observation.sum() == 5
            assert len(env.step(NO_OP)) == 5

    def test_settings_behind_wrappers_of_make(self, toy_id):
        with gymnasium.make(toy_id, max_episode_steps=3) as env:
            env.benchmark = "benchmark://toy-v0/alphabet"
            env.observation_space = "text"
            env.action_space = "Append"
            env.reward_space = "counter"
            env.recover = True
            env.note = "mine"
            assert env.reset()[0] == "abcdefghijklmnopqrstuvwxyz"
            assert env.compiler_env.recover
            assert env.compiler_env.action_space.name == env.action_space.name == "Append"
            assert env.step("!")[:2] == ("abcdefghijklmnopqrstuvwxyz!", 1)
            assert env.observation["text"].endswith("!")
            assert env.note == "mine"
            assert not hasattr(env.unwrapped, "note")
            assert not hasattr(env, "_sessions") and not hasattr(env, "no_such")

    def test_fork_behind_wrappers_of_make(self, toy_id):
        with gymnasium.make(toy_id, max_episode_steps=3) as env:
            env.reset()
            env.step(NO_OP)
            with env.fork() as fork:
                assert [fork.step(APPEND_A)[3] for _ in range(2)] == [False, True]
                assert fork.actions == [NO_OP, APPEND_A, APPEND_A]
            assert env.actions == [NO_OP]
            assert not env.step(NO_OP)[3]

    def test_made_again(self, toy_id):
        with gymnasium.make(toy_id, max_episode_steps=3) as env:
            spec = env.spec
        assert spec.max_episode_steps == 3
        with gymnasium.make(spec) as env:
            env.benchmark = "benchmark://toy-v0/empty"
            assert env.reset()[0].sum() == 0
            assert [env.step(NO_OP)[3] for _ in range(3)] == [False, False, True]

    def test_order_is_enforced_on_request(self, toy_id):
        register(
            id=toy_id, entry_point="tests.service.toy_service:make_toy_env", order_enforce=True
        )
        with gymnasium.make(toy_id, disable_env_checker=False) as env:
            with pytest.raises(gymnasium.error.ResetNeeded):
                env.step(NO_OP)
            env.observation_space = "text"
            assert env.reset()[0] == "hello"

    def test_wrappers_of_this_package(self, toy_id):
        """By env_config and make_vec(), as RLlib passes them on, and around the environment."""
        wrappers = [FloatObservations]
        with gymnasium.make(toy_id, wrappers=wrappers, max_episode_steps=3) as env:
            assert env.reset()[0].dtype == np.float32
        with FloatObservations(gymnasium.make(toy_id, max_episode_steps=3)) as env:
            assert env.reset()[0].dtype == env.observation_space.dtype == np.float32
        envs = gymnasium.make_vec(toy_id, 2, vectorization_mode="sync", wrappers=wrappers)
        try:
            assert envs.reset()[0].dtype == np.float32
        finally:
            envs.close()
