"""Episodes of environments with a service: reset, steps, observations, rewards, errors."""

import inspect
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.errors import BenchmarkInitError, ServiceError, ServiceIsClosed, SessionNotFound
from compiler_gym.spaces import Reward
from compiler_gym.wrappers import CompilerEnvWrapper
from tests.service.toy_service import HELLO, make_toy_env, text_benchmark

UPPERCASE, REVERSE, ROTATE, APPEND_A, NO_OP, END, END_LATER, FAIL, THROW, RESTRICT = range(10)


def test_actions_are_in_the_order_of_steps_of_several_threads(env):
    def play(seed):
        for action in np.random.default_rng(seed).integers(APPEND_A + 1, size=50):
            env.step(int(action))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(play, range(8)))
    text, actions, reward = env.observation["text"], env.actions, env.episode_reward
    env.reset()
    env.multistep(actions)
    assert (env.observation["text"], env.episode_reward) == (text, reward)


def histogram(text: str) -> list[int]:
    return [text.count(chr(ord("a") + i)) for i in range(26)]


class Given(Reward):
    """A reward of any value."""

    def __init__(self, value):
        super().__init__("given")
        self.value = value

    def update(self, actions, observations, observation_view):
        return self.value


class TestReset:
    def test_another_program_of_the_same_name(self, env):
        assert env.reset(benchmark=text_benchmark("one")) == "one"
        assert env.reset(benchmark=text_benchmark("two")) == "two"
        assert env.reset(benchmark=text_benchmark("two")) == "two"
        assert env.reset(benchmark=text_benchmark("one")) == "one"

    def test_file(self, env, tmp_path):
        (tmp_path / "program").write_text("from a file")
        uri = f"file://{tmp_path}/program"
        assert env.reset(benchmark=uri) == "from a file"
        (tmp_path / "program").write_text("changed")
        assert env.reset(benchmark=uri) == "changed"

    def test_unknown_benchmark(self, env):
        with pytest.raises(LookupError, match="goodbye"):
            env.reset(benchmark="benchmark://toy-v0/goodbye")
        assert env.observation["text"] == "hello"

    def test_program_that_is_refused(self, env):
        for error in (BenchmarkInitError, OSError, ValueError):
            with pytest.raises(error, match="user-v0/text"):
                env.reset(benchmark=text_benchmark("unacceptable"))
        assert not env.in_episode
        assert env.reset(benchmark=HELLO) == "hello"

    def test_without_a_benchmark(self):
        with make_toy_env(datasets=None) as env, pytest.raises(TypeError, match="benchmark"):
            env.reset()

    def test_failing_initial_observation(self, env):
        with pytest.raises(OSError, match="1 attempt"):
            env.reset(observation_space="failing")
        assert not env.in_episode
        assert env.reset(observation_space="text") == "hello"


class TestStep:
    def test_full_episode(self, env):
        text = "hello"
        rewards = []
        for action, expected in [
            (UPPERCASE, "HELLO"),
            (REVERSE, "OLLEH"),
            (ROTATE, "LLEHO"),
            (APPEND_A, "LLEHOa"),
            (NO_OP, "LLEHOa"),
        ]:
            text, reward, done, info = env.step(action)
            assert text == expected
            assert not done
            assert info["action_had_no_effect"] == (action == NO_OP)
            rewards.append(reward)
        assert rewards == [5, 0, 0, 1, 0]
        assert env.episode_reward == 6
        assert env.actions == [UPPERCASE, REVERSE, ROTATE, APPEND_A, NO_OP]
        assert env.episode_walltime > 0
        _, _, done, _ = env.step(END)
        assert done
        with pytest.raises(ValueError, match="end"):
            env.step(NO_OP)
        assert env.observation["text"] == text

    def test_the_list_of_actions_is_the_users(self, env):
        env.step(APPEND_A)
        env.actions.append(NO_OP)
        assert env.actions == [APPEND_A]

    def test_numpy_actions(self, env):
        env.step(np.int64(APPEND_A))
        env.step(np.array(APPEND_A))
        assert env.actions == [APPEND_A, APPEND_A]
        assert all(type(action) is int for action in env.actions)

    def test_given_spaces(self, env):
        observations, rewards, done, _ = env.step(
            APPEND_A,
            observation_spaces=["length", env.observation.spaces["text"], "length"],
            reward_spaces=["counter", env.reward.spaces["length"]],
        )
        assert observations == [6, "helloa", 6]
        assert rewards == [1, 6]
        assert not done
        assert env.episode_reward == 0

    def test_former_names_of_arguments(self, env):
        with pytest.warns(DeprecationWarning, match="observation_spaces") as warnings:
            result = env.step(APPEND_A, observations=["text"], rewards=["length"])
            assert result[:2] == (["helloa"], [6])
            assert env.multistep([], observations=["length"])[0] == [6]
        with pytest.warns(DeprecationWarning, match="multistep") as more:
            assert env.step([APPEND_A, APPEND_A])[0] == "helloaaa"
        assert {warning.filename for warning in [*warnings, *more]} == {__file__}

    @pytest.mark.parametrize("spaces", ["text", ["texts"]])
    @pytest.mark.parametrize("kind", ["observation_spaces", "reward_spaces"])
    def test_wrong_spaces(self, env, kind, spaces):
        with pytest.raises((LookupError, TypeError), match="text"):
            env.step(APPEND_A, **{kind: spaces})
        assert env.actions == []

    def test_observations_of_rewards_are_computed_once(self, env):
        """The counter counts how often it is computed."""
        observations, _, _, _ = env.step(
            NO_OP, observation_spaces=["counter", "counter"], reward_spaces=["counter"]
        )
        assert observations == [1, 1]
        assert env.observation["counter"] == 2

    def test_before_reset(self):
        with make_toy_env() as env:
            with pytest.raises(SessionNotFound, match=r"env\.reset"):
                env.step(0)
            assert env.actions == []
            assert not env.in_episode
            for attribute in ("state", "episode_walltime"):
                with pytest.raises(SessionNotFound):
                    getattr(env, attribute)

    def test_new_action_space(self, env):
        size = env.action_space.n
        _, _, _, info = env.step(RESTRICT)
        assert info["new_action_space"]
        assert env.action_space.n == 5
        with pytest.raises(ValueError, match=r"\[0, 5\).*'Edit'"):
            env.step(END)
        env.step(NO_OP)
        assert env.commandline() == "restrict no-op"
        env.reset()
        assert env.action_space.n == size

    def test_end_reported_by_the_end_of_step(self, env):
        assert env.step(END_LATER)[2] is True


class TestMultistep:
    def test_is_one_step(self, env):
        before = env.observation["end-of-steps"]
        assert env.multistep([NO_OP] * 3, observation_spaces=["end-of-steps"])[0] == [before + 1]

    def test_invalid_action_among_valid_ones(self, env):
        with pytest.raises(ValueError, match="Action 99"):
            env.multistep([APPEND_A, 99])
        assert env.observation["text"] == "hello"
        assert env.actions == []


class TestNames:
    def test_step(self, env):
        text, *_ = env.step("reverse", observation_spaces=["text"])
        assert text == ["olleh"]
        assert env.actions == [env.action_space["reverse"]]

    def test_texts_that_are_actions_themselves(self, env):
        env.reset(action_space="Append", observation_space="text")
        assert env.step("reverse")[0] == "helloreverse"


class TestErrors:
    @pytest.mark.parametrize(
        ("action", "error", "match"),
        [
            (-1, ValueError, r"Action -1 .*\[0, 23\).*'Edit'"),
            (23, ValueError, "Action 23 "),
            (10**30, ValueError, "Action 10{30} "),
            ("revers", ValueError, "'revers'.*'Edit'.*reverse"),
            *(
                (action, TypeError, "'Edit'")
                for action in (None, b"reverse", 1.0, True, np.float32(1), {})
            ),
        ],
    )
    def test_no_action(self, env, action, error, match):
        with pytest.raises(error, match=match):
            env.step(action)
        assert env.in_episode
        assert env.actions == []

    def test_action_of_another_kind_of_space(self, env):
        env.reset(action_space="Append")
        for action in ("", "x" * 17, 3):
            with pytest.raises(ValueError, match="Append"):
                env.step(action)

    @pytest.mark.parametrize(
        ("action", "details"),
        [("fail", "left the program invalid"), ("throw", "thrown"), ("corrupt", "corrupt")],
    )
    def test_failing_action(self, env, action, details):
        action = env.action_space[action]
        env.observation_space = "histogram"
        env.step(APPEND_A)
        observation, reward, done, info = env.step(action)
        np.testing.assert_array_equal(observation, np.zeros(26))
        assert reward == -6
        assert env.episode_reward == 0
        assert done
        assert info["error_type"] == "ServiceError"
        assert details in info["error_details"]
        assert env.actions == [APPEND_A, action]
        assert not env.in_episode
        with pytest.raises(SessionNotFound):
            env.step(NO_OP)
        np.testing.assert_array_equal(env.reset(), histogram("hello"))

    @pytest.mark.parametrize("name", ["failing", "throwing"])
    def test_failing_observation_ends_the_episode_in_a_step_alone(self, env, name):
        env.step(APPEND_A)
        with pytest.raises(ServiceError):
            env.observation[name]
        assert env.step(NO_OP)[0] == "helloa"
        _, _, done, info = env.step(NO_OP, observation_spaces=[name])
        assert done
        assert info["error_type"] == "ServiceError"
        assert not env.in_episode

    def test_failing_reward(self, env):
        class Broken(Reward):
            def update(self, actions, observations, observation_view):
                return observation_view["failing"]

        env.reward_space = Broken("broken", default_value=-1)
        _, reward, done, info = env.step(NO_OP)
        assert (reward, done, info["error_type"]) == (-1, True, "ServiceError")
        env.reward_space = "length"
        del env.reward.spaces["broken"]

    @pytest.mark.parametrize("value", [None, "1", [1], 1j, np.ones(2)])
    def test_reward_that_is_no_number(self, env, value):
        env.reward_space = Given(value)
        with pytest.raises(TypeError, match=r"expected a number from Given\.update\(\), got"):
            env.step(APPEND_A)
        env.reward_space = Given(0.5)
        assert env.step(NO_OP)[:2] == ("helloa", 0.5)
        assert env.actions == [APPEND_A, NO_OP]

    @pytest.mark.parametrize("value", [np.float32(0.5), np.array(0.5)])
    def test_rewards_are_numbers_of_python(self, env, value):
        env.reward_space = Given(value)
        assert type(env.step(APPEND_A)[1]) is type(env.episode_reward) is float

    def test_interrupt_of_a_reward_truncates_the_episode(self, env):
        class Interrupted(Reward):
            def update(self, actions, observations, observation_view):
                raise KeyboardInterrupt

        env.reward_space = Interrupted("interrupted", default_value=-1)
        with pytest.raises(KeyboardInterrupt):
            env.step(APPEND_A)
        env.reward_space = "length"
        del env.reward.spaces["interrupted"]
        _, reward, done, info = env.step(NO_OP)
        assert (reward, done, info["error_type"]) == (0, True, "SessionLost")
        assert info["TimeLimit.truncated"]

    def test_observations_of_a_reward_share_the_time_limit_of_the_step(self, env):
        class Slow(Reward):
            seconds = 0.0

            def update(self, actions, observations, observation_view):
                time.sleep(self.seconds)
                return observation_view["length"]

        env.reward_space = slow = Slow("slow", default_value=-1)
        assert env.step(NO_OP)[1:3] == (5, False)
        slow.seconds = 1.1
        _, reward, done, info = env.step(NO_OP, timeout=1)
        assert (reward, done, info["error_type"]) == (0, True, "TimeoutError")
        assert "env.observation['length'] after a reset has 300 s" in info["error_details"]
        env.reward_space = "length"
        del env.reward.spaces["slow"]
        env.reset()
        assert env.observation["length"] == 5

    @pytest.mark.parametrize("timeout", ["5", None, float("nan")])
    def test_wrong_time_limits_change_nothing(self, env, timeout):
        for call in (
            lambda: env.step(APPEND_A, timeout=timeout),
            lambda: env.begin_multistep([APPEND_A], timeout=timeout),
            lambda: env.reset(timeout=timeout),
        ):
            with pytest.raises((TypeError, ValueError), match="time limit"):
                call()
            assert env.actions == [] and env.in_episode
        assert env.step(APPEND_A, timeout=float("inf"))[:3] == ("helloa", 6, False)
        assert env.begin_multistep([APPEND_A], timeout=float("inf")).result()[0] == "helloaa"
        assert env.actions == [APPEND_A] * 2
        assert env.reset(timeout=float("inf")) == "hello"

    def test_reward_of_an_unknown_observation(self, env):
        with pytest.raises(LookupError, match="no-such-observation"):
            env.reward_space = Reward("odd", observation_spaces=["no-such-observation"])
        assert env.reward_space == "length"
        assert "odd" not in env.reward.spaces
        assert env.step(APPEND_A)[1] == 6


class TestViews:
    def test_view_of_a_deleted_environment(self):
        env = make_toy_env()
        env.reset()
        view = env.observation
        del env
        with pytest.raises(ServiceError):
            view["text"]


def test_render(env, capsys):
    assert env.render("ansi") == "hello"
    assert env.render() is None
    assert capsys.readouterr().out == "hello\n"
    with pytest.raises(ValueError, match="rgb_array"):
        env.render("rgb_array")
    env.observation_space = None
    with pytest.raises(ValueError):
        env.render()


def test_closed_environment():
    env = make_toy_env(observation_space="text")
    env.reset()
    env.close()
    assert not env.in_episode
    with pytest.raises(SessionNotFound, match="closed"):
        env.step(0)
    with pytest.raises(SessionNotFound, match="closed"):
        env.observation["text"]
    assert env.service is None
    with pytest.raises(ServiceIsClosed, match="closed"):
        env.version  # noqa: B018
    assert env.actions == []
    assert env.state.commandline == ""
    env.close()
    assert env.reset() == "hello"
    env.close()


@pytest.mark.parametrize("wrap", [lambda env: env, CompilerEnvWrapper, GymnasiumEnv])
def test_members_before_the_first_reset(wrap):
    """Learners' libraries look at all of them."""
    with make_toy_env() as plain:
        env = wrap(plain)
        assert not hasattr(env, "state")
        names = [name for name, _ in inspect.getmembers(env)]
        assert "state" not in names
        assert "action_space" in names
        with pytest.raises(SessionNotFound):
            env.state  # noqa: B018
        env.reset()
        assert hasattr(env, "state")
