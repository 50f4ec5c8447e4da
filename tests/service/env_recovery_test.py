"""Tests of environments whose service fails: recovery and cleanup."""

import re
from pathlib import Path

import grpc
import pytest

from compiler_gym.errors import ServiceIsClosed, ServiceTransportError, SessionNotFound
from compiler_gym.service import (
    ClientServiceCompilerEnv,
    CompilerGymServiceConnection,
    ConnectionOpts,
)
from tests.processes import is_running, run_interpreter
from tests.service.fake_service import FakeService
from tests.service.service_program import ServiceProgram
from tests.service.toy_service import (
    kill_service,
    make_toy_env,
    text_benchmark,
    toy_service,
)

APPEND_A, NO_OP, HANG = 3, 4, 11


@pytest.fixture(autouse=True)
def cache_root(monkeypatch, tmp_path) -> Path:
    """The folder of working directories, of this test alone."""
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path / "transient"))
    return tmp_path / "transient" / "s"


@pytest.fixture
def env():
    with make_toy_env(observation_space="text", reward_space="length") as env:
        env.reset()
        yield env


class TestKilledService:
    def test_step(self, env, cache_root):
        env.step(APPEND_A)
        kill_service(env)
        observation, reward, done, info = env.step(NO_OP)
        assert (observation, reward) == ("helloa", 0)
        assert env.episode_reward == 6
        assert done
        assert info["TimeLimit.truncated"]
        assert info["error_type"] == "ServiceIsClosed"
        assert "killed by SIGKILL" in info["error_details"]
        assert not env.in_episode
        assert env.actions == [APPEND_A, NO_OP]
        assert list(cache_root.iterdir()) == []

    @pytest.mark.parametrize("use", [lambda env: env.observation["text"], lambda env: env.fork()])
    def test_other_uses(self, env, use):
        kill_service(env)
        with pytest.raises(ServiceIsClosed):
            use(env)
        assert not env.in_episode
        assert env.reset() == "hello"

    def test_forks_recover_each_on_its_own(self, env):
        fork = env.fork()
        kill_service(env)
        assert env.step(NO_OP)[2]
        assert env.reset() == "hello"
        assert fork.step(NO_OP)[2]
        assert fork.reset() == "hello"
        assert fork.service is not env.service
        fork.close()
        assert env.step(APPEND_A)[0] == "helloa"

    def test_parameters_are_sent_to_the_new_service(self, env):
        env.send_param("toy.set_sleep_milliseconds", "5", resend_on_reset=True)
        kill_service(env)
        env.reset()
        assert env.send_param("toy.get_sleep_milliseconds", "") == "5"


def test_a_given_connection_is_not_replaced_by_another_service(tmp_path):
    """Not by the local one that ``service`` names."""
    program = ServiceProgram(tmp_path)
    opts = ConnectionOpts(rpc_max_retries=0, init_max_attempts=1)
    connection = CompilerGymServiceConnection(program.address, opts)
    connection.opts.rpc_init_max_seconds = 1
    with make_toy_env(service_connection=connection, observation_space="text") as env:
        env.reset()
        program.kill()
        assert env.step(NO_OP)[3]["error_type"] == "ServiceTransportError"
        with pytest.raises(ServiceTransportError):
            env.reset()
        assert not env.in_episode


class TestTimeouts:
    def test_hanging_step(self, env):
        pid = env.service.service.pid
        is_kept = env.service.isolates_sessions
        _, _, done, info = env.step(HANG, timeout=0.2)
        assert done
        assert info["error_type"] == "TimeoutError"
        assert not env.in_episode
        # Without isolation the service would hang on, and nobody else needs it.
        assert is_running(pid) == is_kept
        assert env.reset() == "hello"

    @pytest.mark.parametrize("delay", [0.2, 1000])
    def test_reset(self, delay):
        """The time limit is that of all attempts together."""
        with FakeService() as service, ClientServiceCompilerEnv(service.address) as env:
            service.failures["StartSession"] = [(grpc.StatusCode.ABORTED, "again")] * 99
            service.delays["StartSession"] = delay
            with pytest.raises(TimeoutError):
                env.reset(benchmark=text_benchmark("1"), timeout=0.5)
            assert not env.in_episode


class TestUnmanagedService:
    @pytest.fixture
    def service(self):
        with FakeService() as service:
            yield service

    @pytest.fixture
    def env(self, service):
        opts = ConnectionOpts(retry_wait_seconds=0.01)
        with ClientServiceCompilerEnv(
            service.address, connection_settings=opts, observation_space="total"
        ) as env:
            yield env

    def test_benchmark_is_sent_when_the_service_asks(self, env, service):
        service.calls.clear()
        assert env.reset(benchmark=text_benchmark("7")) == 7
        assert service.calls == ["StartSession", "AddBenchmark", "StartSession"]
        service.calls.clear()
        assert env.reset() == 7
        assert service.calls == ["EndSession", "StartSession"]

    def test_always_send_benchmark(self, service):
        opts = ConnectionOpts(always_send_benchmark_on_reset=True)
        with ClientServiceCompilerEnv(
            service.address, connection_settings=opts, observation_space="total"
        ) as env:
            service.calls.clear()
            assert env.reset(benchmark=text_benchmark("7")) == 7
            assert env.reset(benchmark=text_benchmark("8")) == 8
            assert service.calls == ["StartSession", "EndSession", "StartSession"]

    def test_attempts_of_reset_are_limited(self, env, service):
        service.failures["StartSession"] = [(grpc.StatusCode.ABORTED, "crashed")] * 99
        with pytest.raises(OSError, match=r"5 attempts.*crashed"):
            env.reset(benchmark=text_benchmark("7"))
        assert not env.in_episode

    def test_parameters_come_before_observations(self, env, service):
        with pytest.raises(SessionNotFound):
            env.send_param("a", "1", resend_on_reset=True)
        service.calls.clear()
        service.benchmarks["benchmark://user-v0/text"] = b"7"
        assert env.reset(benchmark=text_benchmark("7")) == 7
        assert service.calls == ["StartSession", "SendSessionParameter", "Step"]
        (session,) = service.sessions.values()
        assert session.params == {"a": "1"}

    def test_session_that_the_service_has_lost(self, env, service):
        env.reset(benchmark=text_benchmark("7"))
        service.sessions.clear()
        _, _, done, info = env.step(1)
        assert done
        assert info["error_type"] == "SessionNotFound"
        assert env.reset() == 7

    def test_deleted_environments_end_their_session(self, service):
        env = ClientServiceCompilerEnv(service.address)
        env.reset(benchmark=text_benchmark("7"))
        del env
        assert service.sessions == {}

    def test_failing_constructor_closes_the_connection(self):
        connection = CompilerGymServiceConnection(toy_service())
        with pytest.raises(LookupError):
            ClientServiceCompilerEnv(
                toy_service(), service_connection=connection, reward_space="no-such-reward"
            )
        assert connection.closed


# Prints the process id of the service, then follows the last line.
CLIENT = """
import sys
from tests.service.toy_service import make_toy_env
env = make_toy_env()
env.reset()
fork = env.fork()
print(env.service.service.pid, flush=True)
{end}
"""


@pytest.mark.parametrize(
    "end", ["", "sys.exit(3)", "raise KeyboardInterrupt", "env.service.restart()"]
)
def test_nothing_is_left_after_exit(end, cache_root):
    """See also no_traces_test, where clients end in the middle of a step."""
    client = run_interpreter(
        *("-X", "dev", "-W", "error::ResourceWarning", "-c", CLIENT.format(end=end)),
        code=None,
        env={"TOY_SERVICE": str(toy_service())},
    )
    assert not is_running(int(client.stdout))
    assert list(cache_root.iterdir()) == []
    assert client.stderr == "" or end not in ("", "sys.exit(3)")
    assert re.search("Exception ignored|Fatal", client.stderr) is None
