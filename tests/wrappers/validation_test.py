"""Validation while the episode goes on."""

import pytest

from compiler_gym.errors import ValidationError
from compiler_gym.wrappers import Counter, ValidateBenchmarkAfterEveryStep


@pytest.fixture
def validated(program, env):
    """A benchmark that is wrong after its second action."""
    benchmark = type(program)(program.proto)

    def validate(env):
        if len(env.actions) >= 2:
            yield ValidationError("Wrong output", {"actions": len(env.actions)})

    benchmark.add_validation_callback(validate)
    return benchmark


def test_first_error_ends_the_episode(env, validated):
    env = ValidateBenchmarkAfterEveryStep(Counter(env), reward_penalty=-5)
    env.reset(benchmark=validated, reward_space="IrInstructionCount")
    mem2reg = env.action_space["mem2reg"]
    _, first, done, info = env.step(mem2reg)
    assert first > 0
    assert not done
    assert "error_type" not in info
    _, reward, done, info = env.step(mem2reg)
    assert (reward, done) == (-5, True)
    assert info["error_type"] == "Wrong output"
    assert info["error_details"] == "Wrong output (actions: 2)"
    assert env.episode_reward == first - 5


def test_rewards_by_name(env, validated):
    env = ValidateBenchmarkAfterEveryStep(env)
    env.reset(benchmark=validated)
    rewards = ["IrInstructionCount", "IrInstructionCountOz"]
    assert env.multistep([0, 0], reward_spaces=rewards)[1] == [-1000, -1000]
    env.reset()
    assert env.multistep([0, 0])[1] is None


def test_fork(env, validated):
    env = ValidateBenchmarkAfterEveryStep(env, reward_penalty=-7)
    env.reset(benchmark=validated, reward_space="IrInstructionCount")
    env.step(0)
    with env.fork() as fork:
        assert fork.step(0)[1:3] == (-7, True)
    assert not env.multistep([])[2]
