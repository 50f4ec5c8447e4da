"""States of environments: saving, applying, validating."""

import io

import pytest

from compiler_gym.compiler_env_state import (
    CompilerEnvState,
    CompilerEnvStateReader,
    CompilerEnvStateWriter,
)
from compiler_gym.errors import ValidationError
from compiler_gym.spaces import Reward
from tests.service.toy_service import HELLO, make_toy_env, text_benchmark

UPPERCASE, REVERSE, ROTATE, APPEND_A, NO_OP, END = range(6)


class Length(Reward):
    """The length of the text in addition to that before."""

    def __init__(self, deterministic: bool = True):
        super().__init__("deterministic-length", ["length"], deterministic=deterministic)

    def reset(self, benchmark, observation_view):
        self.previous = observation_view["length"]

    def update(self, actions, observations, observation_view):
        reward = observations[0] - self.previous
        self.previous = observations[0]
        return float(reward)


@pytest.fixture
def env(shared_env):
    shared_env.reward.spaces.pop("deterministic-length", None)
    shared_env.reset(benchmark=HELLO, observation_space="text", reward_space=Length())
    return shared_env


def test_state_after_the_end(env):
    env.multistep([APPEND_A, END])
    assert env.state.commandline == "append-a end"
    env.close()
    assert env.state.commandline == "append-a end"


def test_round_trip(env):
    env.multistep([APPEND_A, UPPERCASE, REVERSE])
    file = io.StringIO()
    CompilerEnvStateWriter(file).write_state(env.state)
    file.seek(0)
    (state,) = CompilerEnvStateReader(file)
    assert state == env.state
    assert (state.benchmark, state.reward) == (HELLO, 1)
    assert state.walltime > 0
    with make_toy_env(observation_space="text", reward_space=Length()) as other:
        other.apply(state)
        assert other.state == state
        assert other.observation["text"] == "AOLLEH"
        assert other.episode_reward == 1


class TestApply:
    def test_of_another_benchmark(self, env):
        state = CompilerEnvState(
            benchmark="benchmark://toy-v0/empty", commandline="append-a", walltime=0
        )
        with pytest.warns(UserWarning, match=r"toy-v0/empty.*toy-v0/hello"):
            env.apply(state)
        assert env.observation["text"] == "helloa"

    @pytest.mark.parametrize(
        ("commandline", "text"),
        [
            ("append-b", "append-b"),
            ("append-a fail no-op", "action 2 of 3.*left the program invalid"),
            ("no-op fail", "action 2 of 2.*left the program invalid"),
            ("end no-op", "action 1 of 2"),
        ],
    )
    def test_failing_action(self, env, commandline, text):
        state = CompilerEnvState(benchmark=HELLO, commandline=commandline, walltime=0)
        with pytest.raises(ValueError, match=text):
            env.apply(state)

    def test_of_another_version(self, env):
        values = {"benchmark": HELLO, "walltime": 0, "compiler_version": "0.1"}
        text = f"Made by version 0.1 of the compiler, and this is {env.compiler_version}"
        with pytest.warns(UserWarning, match=text):
            env.apply(CompilerEnvState(commandline="append-a", **values))
        with pytest.raises(ValueError, match=f"{text}: .*append-b"), pytest.warns(UserWarning):
            env.apply(CompilerEnvState(commandline="append-b", **values))


class TestValidate:
    def test_current_state(self, env):
        env.multistep([APPEND_A, UPPERCASE])
        result = env.validate()
        assert result.okay()
        assert result.reward_validated
        assert not result.benchmark_semantics_validated
        assert result.state == env.state
        assert result.walltime > 0
        assert result.errors == []

    def test_leaves_the_environment_as_it_is(self, env):
        env.multistep([APPEND_A, UPPERCASE])
        env.validate()
        env.validate(CompilerEnvState(benchmark=HELLO, commandline="fail", walltime=0))
        assert env.observation["text"] == "HELLOA"
        assert env.step(APPEND_A)[1] == 1
        assert env.actions == [APPEND_A, UPPERCASE, APPEND_A]

    def test_of_another_version(self, env):
        values = {"benchmark": HELLO, "walltime": 0, "compiler_version": "0.1"}
        text = f"Made by version 0.1 of the compiler, and this is {env.compiler_version}"
        # It is as good as any if the result is the same.
        assert env.validate(CompilerEnvState(commandline="append-a", reward=1, **values)).okay()
        result = env.validate(CompilerEnvState(commandline="append-a", reward=2, **values))
        assert result.reward_validation_failed
        assert [error.type for error in result.errors] == [text]
        (error,) = env.validate(CompilerEnvState(commandline="append-b", **values)).errors
        assert error.type == "Action replay failed"
        assert error.data["details"].startswith(f"{text}: ")

    def test_wrong_reward(self, env):
        env.step(APPEND_A)
        env.episode_reward = 3
        result = env.validate()
        assert not result.okay()
        assert result.reward_validation_failed
        (error,) = result.errors
        assert error.type == "Reward differs"
        assert error.data == {
            "reward_space": "deterministic-length",
            "expected_reward": 3,
            "actual_reward": 1,
        }

    @pytest.mark.parametrize("reward", [1 + 1e-6, 1 - 1e-6])
    def test_tolerance(self, env, reward):
        state = CompilerEnvState(benchmark=HELLO, commandline="append-a", walltime=0, reward=reward)
        assert env.validate(state).okay()

    def test_rewards_that_are_not_comparable(self, env):
        state = CompilerEnvState(benchmark=HELLO, commandline="append-a", walltime=0, reward=9)
        del env.reward.spaces["deterministic-length"]
        env.reward_space = Length(deterministic=False)
        result = env.validate(state)
        assert result.okay()
        assert not result.reward_validated
        env.reward_space = None
        assert not env.validate(state).reward_validated

    def test_replay_that_fails(self, env):
        state = CompilerEnvState(benchmark=HELLO, commandline="append-a fail", walltime=0)
        result = env.validate(state)
        assert result.actions_replay_failed
        assert "left the program invalid" in result.errors[0].data["details"]

    def test_before_an_episode(self):
        state = CompilerEnvState(benchmark=HELLO, commandline="append-a", walltime=0, reward=1)
        with make_toy_env(datasets=make_toy_env().datasets, reward_space=Length()) as env:
            assert env.validate(state).okay()
            assert not env.in_episode

    @pytest.mark.parametrize("valid", [True, False])
    def test_semantics(self, env, valid):
        seen = []

        def callback(fork):
            seen.append(fork.observation["text"])
            fork.step(APPEND_A)
            if not valid:
                yield ValidationError(type="Wrong output", data={"got": seen[0]})

        benchmark = text_benchmark("mine")
        benchmark.add_validation_callback(callback)
        env.reset(benchmark=benchmark)
        env.step(REVERSE)
        result = env.validate()
        assert seen == ["enim"]
        assert env.observation["text"] == "enim"
        assert result.benchmark_semantics_validated
        assert result.okay() == valid
        assert result.benchmark_semantics_validation_failed != valid
        assert len(result.errors) == (not valid)
