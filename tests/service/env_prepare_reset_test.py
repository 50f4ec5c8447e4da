"""Resets that are begun and finished later."""

import os
import signal

import pytest

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.service import ConnectionOpts
from compiler_gym.wrappers import IterateOverBenchmarks, RandomOrderBenchmarks, TimeLimit
from tests.service.toy_service import HELLO, make_toy_env, open_sessions, text_benchmark

ALPHABET, EMPTY = "benchmark://toy-v0/alphabet", "benchmark://toy-v0/empty"
APPEND_A = 3


@pytest.fixture(params=["direct channel", "gRPC"])
def env(request):
    opts = ConnectionOpts(direct_channel=request.param == "direct channel")
    with make_toy_env(benchmark=HELLO, observation_space="text", connection_settings=opts) as env:
        env.reset()
        env.step(APPEND_A)
        yield env


def test_reset(env):
    env.prepare_reset()
    assert not env.in_episode
    assert env.reset() == "hello"
    assert env.step(APPEND_A)[0] == "helloa"
    assert open_sessions(env.service) == 1


def test_session_is_asked_for():
    with make_toy_env(benchmark=HELLO, observation_space="text") as env:
        env.reset()
        env.prepare_reset()
        starts = []
        stub = env.service.stub
        stub.StartSession = lambda *args, **kwargs: starts.append(args)
        assert env.reset() == "hello"
        assert starts == []


@pytest.mark.parametrize(
    "change",
    [
        lambda env: env.reset(benchmark=ALPHABET),
        lambda env: env.reset(observation_space="length"),
        lambda env: env.reset(action_space="Append"),
    ],
)
def test_another_reset(env, change):
    """A reset with other arguments discards the prepared session."""
    env.prepare_reset()
    assert change(env) in ("abcdefghijklmnopqrstuvwxyz", 5, "hello")
    assert open_sessions(env.service) == 1
    assert env.actions == []


def test_another_program_of_the_same_name(env):
    env.reset(benchmark=text_benchmark("one"))
    env.prepare_reset()
    assert env.reset(benchmark=text_benchmark("two")) == "two"
    env.prepare_reset()
    assert env.reset() == "two"


def test_program_that_the_service_does_not_know(env):
    env.prepare_reset(benchmark=ALPHABET)
    assert env.reset(benchmark=ALPHABET) == "abcdefghijklmnopqrstuvwxyz"
    env.prepare_reset(benchmark=text_benchmark("unacceptable"))
    with pytest.raises(BenchmarkInitError):
        env.reset(benchmark=text_benchmark("unacceptable"))
    assert env.reset(benchmark=HELLO) == "hello"


def test_given_up(env):
    with env.sibling() as other:
        other.reset()
        other.prepare_reset()
    assert open_sessions(env.service) == 1


def test_end_of_the_service(env):
    env.prepare_reset()
    service = env.service.service
    os.kill(service.pid, signal.SIGKILL)
    assert service.exit_code(wait_seconds=100) is not None
    assert env.reset() == "hello"


def test_wrappers(env):
    wrapped = TimeLimit(IterateOverBenchmarks(env, [ALPHABET, EMPTY, HELLO]), 3)
    assert wrapped.reset() == "abcdefghijklmnopqrstuvwxyz"
    wrapped.prepare_reset()
    wrapped.prepare_reset()
    assert wrapped.reset() == ""
    assert wrapped.reset() == "hello"
    with pytest.raises(StopIteration):
        wrapped.prepare_reset()


def test_seed(env):
    wrapped = RandomOrderBenchmarks(env, [ALPHABET, EMPTY, HELLO])

    def visit():
        wrapped.seed(3)
        return [wrapped.reset() for _ in range(6)]

    first = visit()
    wrapped.prepare_reset()
    assert visit() == first
