"""Steps of environments that are begun and finished later."""

import select
import time

import pytest

from compiler_gym.errors import SessionNotFound
from compiler_gym.service import ConnectionOpts
from tests.service.toy_service import HELLO, make_toy_env

APPEND_A, NO_OP, FAIL, SLEEP, HANG, CRASH = 3, 4, 7, 10, 11, 14


@pytest.fixture(params=["direct channel", "gRPC"])
def env(request):
    opts = ConnectionOpts(direct_channel=request.param == "direct channel")
    with make_toy_env(
        benchmark=HELLO,
        observation_space="text",
        reward_space="length",
        connection_settings=opts,
    ) as env:
        env.reset()
        yield env


def test_result(env):
    assert env.begin_multistep([APPEND_A, APPEND_A]).result()[:3] == ("helloaa", 7, False)
    assert env.begin_multistep([APPEND_A]).result()[:3] == ("helloaaa", 1, False)
    assert env.actions == [APPEND_A] * 3
    assert env.episode_reward == 8
    assert env.step(APPEND_A)[:2] == ("helloaaaa", 1)


def test_does_not_wait(env):
    """The step has a deadline, and its descriptor is ready when it has ended."""
    before = time.monotonic()
    step = env.begin_multistep([HANG], timeout=300)
    after = time.monotonic()
    assert not select.select([step.fd], [], [], 0)[0]
    assert before + 300 <= step.deadline <= after + 310  # With a grace period.
    env.close()


def test_no_request_in_between():
    with make_toy_env(benchmark=HELLO, observation_space="text") as env:
        env.reset()
        step = env.begin_multistep([APPEND_A])
        with pytest.raises(RuntimeError, match="in progress"):
            env.step(NO_OP)
        assert step.result()[0] == "helloa"


@pytest.mark.parametrize("action", [CRASH, FAIL])
def test_failure(env, action):
    env.step(APPEND_A)
    observation, reward, done, info = env.begin_multistep([action]).result()
    assert (observation, reward, done) == ("", -6, True)
    assert "error_type" in info
    assert not env.in_episode
    env.reset()
    assert env.begin_multistep([APPEND_A]).result()[0] == "helloa"


def test_recovery(env):
    env.recover = True
    env.step(APPEND_A)
    observation, _, done, info = env.begin_multistep([CRASH]).result()
    assert (observation, done, info["recovered"]) == ("helloa", False, True)
    assert env.actions == [APPEND_A]


def test_mistakes(env):
    with pytest.raises(ValueError, match="range"):
        env.begin_multistep([100])
    assert env.actions == []
    env.close()
    with pytest.raises(SessionNotFound, match="reset"):
        env.begin_multistep([NO_OP])


def test_given_up(env):
    env.send_param("toy.set_sleep_milliseconds", "1000000")
    env.begin_multistep([SLEEP]).cancel()
    assert env.reset() == "hello"
    assert env.step(APPEND_A)[0] == "helloa"


def test_sibling(env):
    env.send_param("toy.set_sleep_milliseconds", "60", resend_on_reset=True)
    with env.sibling() as other:
        assert not other.in_episode
        assert other.service is env.service
        assert other.reset() == "hello"
        assert other.send_param("toy.get_sleep_milliseconds", "") == "60"
        steps = [each.begin_multistep([APPEND_A]) for each in (env, other)]
        assert [step.result()[0] for step in steps] == ["helloa", "helloa"]
    assert env.step(APPEND_A)[0] == "helloaa"


def test_known_transitions():
    """Steps that are known are not made, and others when they are finished."""
    with make_toy_env(benchmark=HELLO, observation_space="text", transition_cache=True) as env:
        for was_known in (False, True):
            env.reset()
            observation, _, done, info = env.begin_multistep([APPEND_A]).result()
            assert (observation, done) == ("helloa", False)
            assert info["transition_was_known"] == was_known
        env.prepare_reset()
        assert env.reset() == "hello"
        assert env.begin_multistep([APPEND_A, APPEND_A]).result()[0] == "helloaa"
        env.begin_multistep([NO_OP]).cancel()
        assert env.reset() == "hello"
