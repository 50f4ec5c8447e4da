"""The services whose actions are decisions about loops."""

import pytest

import compiler_gym
import examples.loop_services  # noqa: F401, which makes the ids known.
from compiler_gym.datasets import Benchmark

UNROLLING, LOOPS = "unrolling-py-v0", "loops-opt-py-v0"


@pytest.fixture(scope="module", params=[UNROLLING, LOOPS])
def env(request):
    with compiler_gym.make(request.param) as env:
        yield env


def test_actions(env):
    names = {
        UNROLLING: ["unroll-2", "unroll-4", "unroll-8"],
        LOOPS: [f"{what}-{2**k}" for what in ("unroll", "vectorize") for k in range(1, 6)],
    }
    assert env.action_space.names in names.values()
    assert list(env.observation.spaces) == ["ir", "instructions", "size", "runtime"]


def test_unrolling_grows_the_program(env):
    env.reset(reward_space="size")
    before = env.observation["instructions"]
    instructions, reward, done, _ = env.step(env.action_space["unroll-4"])
    assert not done
    assert instructions > before
    assert reward < 0
    assert env.observation["runtime"] > 0


def test_forks_go_on_like_their_originals(env):
    env.reset()
    with env.fork() as fork:
        assert fork.observation["ir"] == env.observation["ir"]
        fork.step(1)
        assert fork.observation["ir"] != env.observation["ir"]
        env.step(1)
        assert fork.observation["ir"] == env.observation["ir"]


def test_vectors():
    with compiler_gym.make(LOOPS) as env:
        env.reset()
        assert "<8 x float>" not in env.observation["ir"]
        env.step(env.action_space["vectorize-8"])
        assert "<8 x float>" in env.observation["ir"]


def test_invalid_program(env):
    with pytest.raises(ValueError, match="program in C"):
        env.reset(benchmark=Benchmark.from_file_contents("benchmark://user-v0/x", b"int ="))
