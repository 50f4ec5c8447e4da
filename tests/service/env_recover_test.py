"""Environments whose sessions die: what a step says about it, and recovery."""

import grpc
import pytest

from compiler_gym.errors import ServiceOSError, SessionDied
from compiler_gym.service import ClientServiceCompilerEnv, ConnectionOpts
from tests.service.fake_direct_service import FakeDirectService
from tests.service.fake_service import FakeService
from tests.service.toy_service import kill_service, make_toy_env, text_benchmark

DEATHS = {
    "SessionDied": (grpc.StatusCode.ABORTED, "ended by signal 11\nlog\nReproducer: /a/b"),
    "TimeoutError": (grpc.StatusCode.DEADLINE_EXCEEDED, "took longer than 3 s in action x"),
    "ServiceOSError": (grpc.StatusCode.RESOURCE_EXHAUSTED, "reached its memory limit"),
}
APPEND_A, NO_OP, FAIL, RESTRICT = 3, 4, 7, 9


@pytest.fixture(params=["direct", "grpc"])
def service(request, monkeypatch):
    if request.param == "grpc":
        monkeypatch.setenv("COMPILER_GYM_DIRECT_CHANNEL", "0")
    with FakeDirectService() as service:
        yield service


def make_env(service: FakeService, **kwargs) -> ClientServiceCompilerEnv:
    opts = ConnectionOpts(retry_wait_seconds=0.01)
    return ClientServiceCompilerEnv(
        service.address,
        connection_settings=opts,
        observation_space="total",
        reward_space="total",
        **kwargs,
    )


@pytest.fixture(params=DEATHS)
def death(request, service) -> str:
    """Makes sessions die of action 2, and returns the name of the error."""
    service.fatal[2] = DEATHS[request.param]
    return request.param


def assert_second_step_ends_episode(env, service, death):
    observation, reward, done, info = env.step(2)
    # The time limit says nothing about the action.
    expected = (11, 0, True) if death == "TimeoutError" else (0, -11, True)
    assert (observation, reward, done) == expected
    assert info["error_type"] == death
    assert info["error_details"] == DEATHS[death][1]
    assert "recovered" not in info
    assert env.actions == [1, 2]
    assert not env.in_episode
    assert service.sessions == {}


class TestWithoutRecovery:
    @pytest.fixture
    def env(self, service):
        with make_env(service) as env:
            env.reset(benchmark=text_benchmark("10"))
            yield env

    def test_step(self, env, service, death):
        env.step(1)
        assert_second_step_ends_episode(env, service, death)

    def test_observation(self, env, service, death):
        service.failures["Step"] = [DEATHS[death]]
        with pytest.raises((SessionDied, ServiceOSError, TimeoutError)):
            env.observation["total"]
        assert not env.in_episode
        assert service.sessions == {}


def test_a_service_without_isolation_may_refuse_large_messages():
    with FakeService() as service, make_env(service) as env:
        env.reset(benchmark=text_benchmark("10"))
        service.failures["Step"] = [(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large")]
        with pytest.raises(ServiceOSError):
            env.observation["total"]
        assert env.observation["total"] == 10


class TestRecovery:
    @pytest.fixture
    def env(self, service):
        with make_env(service, recover=True) as env:
            env.reset(benchmark=text_benchmark("10"))
            yield env

    def test_step(self, env, service, death):
        env.step(1)
        env.step(1)
        observation, reward, done, info = env.step(2)
        assert (observation, reward, done) == (12, 0, False)
        assert info == {
            "action_had_no_effect": True,
            "new_action_space": False,
            "error_type": death,
            "error_details": DEATHS[death][1],
            "recovered": True,
        }
        assert env.actions == [1, 1]
        assert env.episode_reward == 12  # The first reward is the whole first value.
        assert env.in_episode
        assert len(service.sessions) == 1
        assert env.step(1)[:3] == (13, 1, False)
        assert env.episode_reward == 13

    def test_multistep_goes_back_to_before_it(self, env, death):
        env.step(1)
        observation, _, done, info = env.multistep([1, 1, 2, 1])
        assert (observation, done, info["recovered"]) == (11, False, True)
        assert env.actions == [1]
        assert env.multistep([1, 1])[0] == 13

    def test_spaces_asked_for(self, env, death):
        env.step(1)
        observation, reward, _, _ = env.step(
            2, observation_spaces=["calls", "total"], reward_spaces=["total", "total"]
        )
        assert observation[1] == 11
        assert reward == [0, 0]
        assert env.episode_reward == 11

    def test_forks(self, env, death):
        env.step(1)
        with env.fork() as fork:
            assert fork.recover
            assert fork.step(2)[3]["recovered"]
            assert fork.step(1)[0] == 12
            assert env.observation["total"] == 11
            env.recover = False
            assert env.step(2)[2]
            assert fork.step(2)[3]["recovered"]

    def test_parameters(self, env, service, death):
        env.send_param("a", "1", resend_on_reset=True)
        env.send_param("b", "2")
        env.step(2)
        (session,) = service.sessions.values()
        assert session.params == {"a": "1", "b": "2"}

    def test_replay_that_fails(self, env, service, death):
        env.step(1)
        service.fatal[1] = (grpc.StatusCode.ABORTED, "another death")
        assert_second_step_ends_episode(env, service, death)
        service.fatal.clear()
        assert env.reset() == 10

    def test_observation_that_kills(self, env, service):
        """There is nothing before it to go back to."""
        env.step(1)
        service.failures["Step"] = [DEATHS["SessionDied"]] * 3
        _, _, done, info = env.multistep([])
        assert done
        assert "recovered" not in info
        assert env.actions == [1]

    def test_apply_is_not_fooled(self, env, service, death):
        env.multistep([1, 1])
        state = env.state
        service.fatal[1] = service.fatal[2]
        env.reset()
        with pytest.raises(ValueError, match="action 1 of 2"):
            env.apply(state)


class TestRecoveryOfTheToy:
    """With a real process, and a service that may have no isolation."""

    @pytest.fixture
    def env(self):
        with make_toy_env(recover=True, observation_space="text", reward_space="length") as env:
            env.reset(benchmark=text_benchmark("mine"))
            yield env

    def test_failing_pass(self, env):
        env.step(APPEND_A)
        observation, _, done, info = env.step(FAIL)
        if "error_type" in info:
            assert (observation, done, info["recovered"]) == ("minea", False, True)
        assert env.step(APPEND_A)[0] == "mineaa"

    def test_killed_service_and_new_action_space(self, env):
        env.step(APPEND_A)
        env.step(RESTRICT)
        assert env.action_space.n == 5
        kill_service(env)
        observation, reward, done, info = env.step(APPEND_A)
        assert (observation, reward, done) == ("minea", 0, False)
        assert (info["error_type"], info["recovered"]) == ("ServiceIsClosed", True)
        assert env.observation["text"] == "minea"
        assert env.action_space.n == 5
        assert env.step(APPEND_A)[:2] == ("mineaa", 1)
