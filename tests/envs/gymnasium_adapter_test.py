import copy
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.wrappers import CompilerEnvWrapper, FloatObservations, TimeLimit
from tests.service.toy_service import HELLO, ToyDataset, make_toy_env

APPEND_A, NO_OP, FAIL, HANG = 3, 4, 7, 11


@pytest.fixture
def env():
    with make_toy_env(observation_space="histogram", reward_space="length") as classic:
        yield GymnasiumEnv(classic)


def histogram(text: str) -> list[int]:
    return [text.count(chr(ord("a") + i)) for i in range(26)]


def test_failure(env):
    env.reset()
    env.step(APPEND_A)
    observation, reward, terminated, truncated, info = env.step(FAIL)
    np.testing.assert_array_equal(observation, np.zeros(26))
    assert (reward, terminated, truncated) == (-6, True, False)
    assert info["error_type"] == "ServiceError"
    np.testing.assert_array_equal(env.reset()[0], histogram("hello"))


class TestLostSessions:
    """The episode could have gone on elsewhere, so it is cut short rather than at its end."""

    def test_time_limit(self, env):
        env.reset()
        env.step(APPEND_A)
        observation, reward, terminated, truncated, info = env.step(HANG, timeout=0.2)
        np.testing.assert_array_equal(observation, histogram("helloa"))
        assert (reward, terminated, truncated) == (0, False, True)
        assert info["error_type"] == "TimeoutError"
        assert not env.in_episode

    def test_recovered(self, env):
        env.recover = True
        env.reset()
        *_, terminated, truncated, info = env.step(HANG, timeout=0.2)
        assert (terminated, truncated) == (False, False)
        assert info["error_type"] == "TimeoutError"


class TestOptions:
    def test_options(self, env):
        observation, _ = env.reset(
            options={
                "benchmark": "benchmark://toy-v0/alphabet",
                "observation_space": "text",
                "reward_space": "counter",
                "action_space": "Append",
                "timeout": 10,
            }
        )
        assert observation == "abcdefghijklmnopqrstuvwxyz"
        assert env.observation_space == env.compiler_env.observation_space
        assert env.action_space.name == "Append"
        assert env.step("!")[:2] == ("abcdefghijklmnopqrstuvwxyz!", 1)
        assert env.reset()[0] == "abcdefghijklmnopqrstuvwxyz"

    def test_unknown(self, env):
        with pytest.raises(ValueError, match="benchmrak"):
            env.reset(options={"benchmrak": HELLO})


class TestSeed:
    @pytest.fixture
    def env(self):
        numbers = {str(i): str(i) for i in range(100)}
        with make_toy_env(datasets=[ToyDataset(texts=numbers)], observation_space="text") as env:
            env.require_dataset("toy-v0")
            yield GymnasiumEnv(env)

    def test_random_benchmarks(self, env):
        first = [env.reset(seed=1)[0]] + [env.reset()[0] for _ in range(9)]
        assert [env.reset(seed=1)[0]] + [env.reset()[0] for _ in range(9)] == first
        assert [env.reset(seed=2)[0]] + [env.reset()[0] for _ in range(9)] != first
        assert len(set(first)) > 3
        drawn = []
        for seed in (1, 1, 2):
            env.reset(seed=seed)
            drawn.append(env.np_random.random())
        assert drawn[0] == drawn[1] != drawn[2]

    def test_actions_are_not_those_of_the_episode_before(self, env):
        def sample():
            env.reset(seed=1)
            return [env.action_space.sample() for _ in range(20)]

        episodes = [sample() for _ in range(3)]
        assert episodes[0] != episodes[1] != episodes[2] != episodes[0]
        env.action_space.seed(7)
        first = [sample(), sample()]
        env.action_space.seed(7)
        assert [sample(), sample()] == first
        assert first[0] != first[1]


class TestRender:
    def test_none(self, env):
        env.reset()
        with pytest.warns(UserWarning, match="render_mode"):
            assert env.render() is None

    def test_modes_are_those_of_the_environment(self):
        with make_toy_env(observation_space="text") as classic:
            assert GymnasiumEnv(classic).metadata["render_modes"] == ["human", "ansi"]
            with pytest.raises(ValueError, match=r"'summary'.*: human, ansi$"):
                GymnasiumEnv(classic, render_mode="summary")

    def test_picture(self):
        with make_toy_env(observation_space="text") as classic:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                env = GymnasiumEnv(classic, render_mode="rgb_array")
            assert env.render_mode == "ansi"
            env.reset()
            with pytest.warns(UserWarning, match="no pictures.*'ansi'"):
                assert env.render() == "hello"


class TestWithoutDefaultSpaces:
    def test_observation_and_reward(self):
        with make_toy_env() as classic:
            env = GymnasiumEnv(classic)
            observation, _ = env.reset()
            assert observation.shape == (0,)
            assert observation in env.observation_space
            stepped, reward, *_ = env.step(APPEND_A)
            assert (stepped.shape, reward) == ((0,), 0.0)
            assert stepped is not observation


class TestNumbersAreArrays:
    """Learners refuse spaces of shape ()."""

    def test_number(self):
        with make_toy_env(observation_space="length", reward_space="length") as classic:
            env = GymnasiumEnv(classic)
            assert isinstance(env.observation_space, gymnasium.spaces.Box)
            assert env.observation_space.shape == (1,)
            assert env.observation_space.dtype == classic.observation_space.dtype
            assert env.observation_space is env.observation_space
            np.testing.assert_array_equal(env.reset()[0], [5])
            observation, *_ = env.step(APPEND_A)
            np.testing.assert_array_equal(observation, [6])
            assert observation in env.observation_space
            assert env.step(APPEND_A, observation_spaces=["length"])[0] == [7]
            assert env.multistep([APPEND_A], observation_spaces=["length"])[0] == [8]
            failed, *_ = env.step(FAIL)
            np.testing.assert_array_equal(failed, [0])
            assert failed in env.observation_space
            env.observation_space = "histogram"
            assert env.observation_space == classic.observation_space

    def test_wrapper_goes_inside(self, env):
        outer = gymnasium.wrappers.OrderEnforcing(env)
        assert FloatObservations(outer) is outer
        assert FloatObservations(env=outer) is outer
        assert type(env.compiler_env) is FloatObservations
        assert outer.observation_space.dtype == np.float32
        observation, _ = outer.reset()
        assert observation.dtype == np.float32
        np.testing.assert_array_equal(observation, histogram("hello"))
        with pytest.raises(TypeError, match="FloatObservations is for environments"):
            FloatObservations(gymnasium.make("CartPole-v1"))


class TestEndlessEpisodes:
    def test_warning(self, env):
        env.reset()
        env.multistep([NO_OP] * 998)
        env.step(NO_OP)
        with pytest.warns(UserWarning, match="1000.*max_episode_steps"):
            env.step(NO_OP)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            env.step(NO_OP)  # Once.

    @pytest.mark.filterwarnings("error")
    def test_no_warning_of_episodes_that_end(self, env):
        for _ in range(2):
            env.reset()
            env.multistep([NO_OP] * 600)
        with make_toy_env(observation_space="histogram", reward_space="length") as classic:
            limited = GymnasiumEnv(TimeLimit(classic, 5000))
            limited.reset()
            limited.multistep([NO_OP] * 1001)


class TestExtendedInterface:
    def test_settings_of_a_wrapped_environment(self):
        class Wrapper(CompilerEnvWrapper):
            limit = property(lambda self: self._limit, lambda self, value: self.set_limit(value))

            def set_limit(self, value):
                self._limit = value

        with make_toy_env() as classic:
            env = GymnasiumEnv(Wrapper(classic))
            env.recover = True
            env.limit = 3
            assert classic.recover
            assert env.limit == env.compiler_env.limit == 3

    def test_fork(self, env):
        env.reset(seed=3)
        env.step(APPEND_A)
        with env.fork() as fork:
            assert type(fork) is GymnasiumEnv
            assert fork.spec is env.spec
            assert fork.np_random.random() == env.np_random.random()
            assert fork.step(APPEND_A)[1] == 1
            assert env.actions == [APPEND_A]
        with copy.deepcopy(env) as fork:
            fork.step(NO_OP)
            assert (fork.actions, env.actions) == ([APPEND_A, NO_OP], [APPEND_A])
        with pytest.raises(TypeError, match="fork"):
            copy.copy(env)

    def test_close(self, env):
        env.reset()
        env.close()
        assert not env.in_episode
        env.close()
        for act in (env.reset, lambda: env.step(NO_OP), lambda: env.multistep([])):
            with pytest.raises(ClosedEnvironmentError, match="closed"):
                act()
        assert env.compiler_env.service is None


@pytest.mark.parametrize("actions", [[1, 2, 3], (1,), np.array([3]), [3]])
def test_several_actions(env, actions):
    env.reset()
    with pytest.raises(TypeError, match="multistep"):
        env.step(actions)
    assert env.actions == []
    assert env.step(np.array(APPEND_A))[1] == 6


def test_arguments_for_an_object(env):
    with pytest.raises(TypeError, match="reward_space"):
        GymnasiumEnv(env.compiler_env, reward_space="length")
