"""Tests of programs with the classic gym library: steps of four results, and of five.

``registration_test.py`` tests the registration with gym.
"""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import compiler_gym
from compiler_gym.service.proto import Event
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.spaces import (
    ActionSpace,
    Box,
    Dict,
    NamedDiscrete,
    Permutation,
    Scalar,
    Sequence,
    SpaceSequence,
    SpaceUnion,
    Tuple,
)
from compiler_gym.util import registration
from compiler_gym.util.registration import COMPILER_GYM_ENVS, register
from tests.service.toy_service import HELLO, make_toy_env

gym = pytest.importorskip("gym")


SPACES = [
    ActionSpace(NamedDiscrete(["a", "b"], "x")),
    Box(0, 5, "x", shape=(2,), dtype=np.int64),
    Dict({"a": NamedDiscrete(["a"]), "b": Scalar("s", 0, 1)}, "x"),
    Permutation("x", Scalar("r", 0, 4, np.int64)),
    Sequence("x", dtype=str),
    SpaceSequence("x", Scalar("r", 0, 4, np.int64)),
    SpaceUnion([Scalar("r", 0, 4, np.int64)], "x"),
    Tuple([Sequence(dtype=bytes)], "x"),
]

PARTS = {
    "id": "parts",
    "base_id": "histogram",
    "translate": lambda counts: {"all": counts, "first": counts[:1]},
    "space": Dict({"all": Box(0, 99, shape=(26,)), "first": Box(0, 99, shape=(1,))}),
}


# Wrappers that work whatever the number of results, and the shape of what is observed then.
OF_OBSERVATIONS = [
    (gym.wrappers.FlattenObservation, (26,)),
    (lambda env: gym.wrappers.FrameStack(env, 2), (2, 26)),
    (gym.wrappers.NormalizeObservation, (26,)),
    (gym.wrappers.NormalizeReward, (26,)),
    (lambda env: gym.wrappers.TransformObservation(env, lambda each: each + 1), (26,)),
    (lambda env: gym.wrappers.TransformReward(env, lambda each: each + 1), (26,)),
]


@pytest.fixture(autouse=True)
def toy():
    kwargs = {"observation_space": "histogram", "reward_space": "length", "benchmark": HELLO}
    register("toy-v0", entry_point="tests.service.toy_service:make_toy_env", kwargs=kwargs)
    yield
    COMPILER_GYM_ENVS.remove("toy-v0")
    del registration._specs["toy-v0"]


def make_with_share():
    """An environment whose observation is of type float32, in a space of gym."""
    derived = {
        "id": "Share",
        "base_id": "histogram",
        "translate": lambda counts: (counts / max(counts.sum(), 1)).astype(np.float32),
        "space": gym.spaces.Box(0, 1, (26,)),
    }
    return make_toy_env(
        derived_observation_spaces=[derived], observation_space="Share", benchmark=HELLO
    )


def test_spaces_and_environments_are_those_of_gym():
    with gym.make("toy-v0") as env:
        inner = env.unwrapped
        assert isinstance(inner, gym.Env)
        assert isinstance(env.observation_space, gym.spaces.Box)
        assert isinstance(env.action_space, gym.spaces.Discrete)
        space = gym.spaces.Dict({"obs": env.observation_space, "action": env.action_space})
        assert space.contains({"obs": env.reset(), "action": env.action_space.sample()})
    for space in SPACES:
        assert isinstance(space, gym.Space)
        assert space == copy.deepcopy(space) == pickle.loads(pickle.dumps(space))
        assert space.contains(space.sample())


class Doubled(gym.Wrapper):
    """A wrapper as they were written for environments of four results."""

    def step(self, action):
        observation, reward, done, info = self.env.step(action)
        return observation, 2 * reward, done, info


class Halves(gym.ObservationWrapper):
    """One that changes observations, whose step its class inherits."""

    def observation(self, observation):
        assert self.env.benchmark == HELLO  # The environment is there with all that it has.
        return observation / 2


class CountsTwice(Halves):
    """One that extends the step that it inherits, as people wrote it for four results."""

    def step(self, action):
        observation, reward, done, info = super().step(action)
        return 2 * observation, reward, done, {**info, "seen": True}


class AlwaysAppend(gym.ActionWrapper):
    """One that needs no more than the action."""

    def action(self, action):
        return self.env.action_space["append-a"]


class TestFourResults:
    def test_custom_wrappers(self):
        env = Doubled(AlwaysAppend(gym.make("toy-v0")))
        env.reset()
        observation, reward, done, _ = env.step(0)
        assert (observation.sum(), reward, done) == (6, 12, False)
        assert env.benchmark == HELLO  # All attributes are there.
        assert env.multistep([3, 3])[0].sum() == 8
        env.close()

    def test_the_next_episode_begins_by_itself(self):
        env = gym.make("toy-v0", max_episode_steps=2, autoreset=True)
        assert env.reset().sum() == 5
        assert env.step(3)[2] is False
        observation, reward, done, info = env.step(3)
        assert (observation.sum(), reward, done) == (5, 1, True)
        assert info["final_observation"].sum() == 7
        assert info["final_info"]["TimeLimit.truncated"]
        assert [env.step(3)[2] for _ in range(2)] == [False, True]
        env.close()

    @pytest.mark.parametrize("mode", ["human", "ansi"])
    def test_render_mode(self, mode, capsys):
        env = gym.make("toy-v0", render_mode=mode)
        assert env.render_mode == mode
        env.reset()
        text = env.render("ansi")
        shown = env.render()
        assert text and (shown or capsys.readouterr().out.rstrip("\n")) == text
        assert (shown is None) == (mode == "human")
        env.close()

    def test_errors_have_advice(self):
        with pytest.raises(ValueError, match="rgb_array"):
            gym.make("toy-v0", render_mode="rgb_array")
        with pytest.raises(ValueError, match="apply_api_compatibility=True"):
            gym.make("toy-v0", disable_env_checker=False)


class TestWrappersOfGym:
    """Those of gym 0.26, which are for five results, around environments of four."""

    @pytest.mark.parametrize("make", [gym.make, compiler_gym.make])
    def test_custom_observations(self, make):
        env = Halves(make("toy-v0"))
        assert env.reset().sum() == 2.5
        observation, reward, done, info = env.step(3)
        assert (observation.sum(), reward, done) == (3, 6, False)
        assert not info["action_had_no_effect"]
        assert env.env.step(3)[0].sum() == 7  # What is inside is as it was.
        env.close()

    def test_custom_step(self):
        env = CountsTwice(gym.make("toy-v0"))
        env.reset()
        observation, _, done, info = env.step(3)
        assert (observation.sum(), done, info["seen"]) == (6, False, True)
        env.close()

    @pytest.mark.parametrize(
        ("wrap", "shape"),
        [
            *OF_OBSERVATIONS,
            (gym.wrappers.RecordEpisodeStatistics, (26,)),
            (lambda env: gym.wrappers.AutoResetWrapper(Halves(env)), (26,)),
            (lambda env: gym.wrappers.FlattenObservation(gym.wrappers.FrameStack(env, 2)), (52,)),
        ],
    )
    def test_observations(self, wrap, shape):
        env = wrap(gym.make("toy-v0", max_episode_steps=2))
        assert env.reset().shape == shape
        observation, _, done, _ = env.step(env.action_space["append-a"])
        assert (observation.shape, done) == (shape, False)
        assert env.observation_space.shape == shape
        assert env.step(3)[2] is True
        assert env.reset().shape == shape
        env.close()

    def test_parts_of_observations(self):
        env = gym.make("toy-v0", derived_observation_spaces=[PARTS], observation_space="parts")
        with gym.wrappers.FilterObservation(env, ["first"]) as env:
            assert list(env.reset()) == ["first"]
            assert list(env.step(3)[0]) == ["first"]
            assert isinstance(env.observation_space, gym.spaces.Dict)

    def test_numeric_actions(self):
        with make_toy_env(
            service_message_converters=ServiceMessageConverters(
                action_space_converter=lambda message: gym.spaces.Box(0, 3, shape=()),
                action_converter=lambda action: Event(int64_value=round(float(action))),
            ),
            observation_space="histogram",
        ) as plain:
            for env in (gym.wrappers.ClipAction(plain), gym.wrappers.RescaleAction(plain, 0, 6)):
                env.reset(benchmark=HELLO)
                observation, _, done, _ = env.step(np.array(6.0, np.float32))
                assert (observation.sum(), done) == (6, False)

    def test_inner_environment_is_restored_after_an_error(self):
        plain = gym.make("toy-v0")
        env = Halves(plain)
        env.reset()
        with pytest.raises(ValueError, match="range"):
            env.step(1000)
        assert env.env is plain
        env.close()

    def test_around_a_wrapper_with_five_results(self):
        five = gym.wrappers.StepAPICompatibility(gym.make("toy-v0"), output_truncation_bool=True)
        env = Halves(five)
        assert env.reset().sum() == 2.5
        assert len(env.step(3)) == 5
        env.close()

    def test_environments_of_others(self):
        class Other(gym.Env):
            observation_space = gym.spaces.Box(0, 1, (2,))
            action_space = gym.spaces.Discrete(1)

            def reset(self, **kwargs):
                return np.zeros(2), {}

            def step(self, action):
                return np.ones(2), 1.0, False, True, {}

        env = gym.wrappers.TransformObservation(Other(), lambda each: each + 1)
        assert env.reset()[0].sum() == 2
        assert env.step(0)[0].sum() == 4
        assert env.step(0)[1:] == (1.0, False, True, {})

    def test_recording_videos_is_refused(self):
        with make_toy_env() as env, pytest.raises(ValueError, match="cannot be rendered"):
            gym.wrappers.RecordVideo(env, "videos")


class TestFiveResults:
    """``apply_api_compatibility`` makes environments of gym 0.26 of ours."""

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

    def test_spaces_are_those_of_gym(self):
        env = gym.make("toy-v0", apply_api_compatibility=True)
        assert isinstance(env.observation_space, gym.spaces.Box)
        assert isinstance(env.action_space, gym.spaces.Discrete)
        assert env.action_space.n == env.env.action_space.n
        assert env.action_space.names == env.env.action_space.names
        assert env.action_space["append-a"] == 3
        assert copy.deepcopy(env.action_space) == env.action_space
        observation, _ = env.reset()
        assert observation in env.observation_space
        env.close()

    @pytest.mark.parametrize(
        ("wrap", "shape"),
        [
            *OF_OBSERVATIONS,
            (lambda env: gym.wrappers.TimeLimit(env, 1), (26,)),
            (gym.wrappers.OrderEnforcing, (26,)),
        ],
    )
    def test_more_wrappers(self, wrap, shape):
        env = wrap(gym.make("toy-v0", apply_api_compatibility=True))
        assert env.reset()[0].shape == shape
        assert len(env.step(env.action_space["append-a"])) == 5
        env.close()


class TestVectors:
    """Vectors of gym have five results, also of environments with four."""

    @pytest.mark.parametrize("asynchronous", [False, True])
    @pytest.mark.parametrize("options", [{}, {"apply_api_compatibility": True}])
    def test_make(self, asynchronous, options):
        envs = gym.vector.make("toy-v0", 2, asynchronous, max_episode_steps=2, **options)
        envs = gym.wrappers.VectorListInfo(envs)
        observations, infos = envs.reset(seed=1)
        assert (observations.shape, infos) == ((2, 26), [{}, {}])
        assert envs.single_action_space["append-a"] == 3
        for steps in (1, 2):
            observations, rewards, terminated, truncated, infos = envs.step([3, 3])
            assert rewards.tolist() == [6 if steps == 1 else 1] * 2 and not terminated.any()
            assert truncated.tolist() == [steps == 2] * 2
        assert [info["final_observation"].sum() for info in infos] == [7, 7]
        assert observations.sum() == 10
        envs.close()

    def test_wrapped_environments_and_others(self):
        envs = gym.vector.SyncVectorEnv([lambda: AlwaysAppend(gym.make("toy-v0"))])
        assert envs.reset(seed=1, options={"benchmark": HELLO})[0].sum() == 5
        assert envs.step([0])[0].sum() == 6
        assert envs.call("benchmark") == (HELLO,)
        envs.close()


class TestSpacesOfGym:
    """Spaces of gym as arguments."""

    def test_derived_observations(self):
        with make_with_share() as env:
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
            with pytest.raises(ValueError, match="Action 5"):
                env.step(5)
