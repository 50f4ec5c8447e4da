"""Tests of environments whose service fails: recovery and cleanup."""

import re
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from compiler_gym.errors import ServiceIsClosed, ServiceTransportError, SessionNotFound
from compiler_gym.service import (
    ClientServiceCompilerEnv,
    CompilerGymServiceConnection,
    ConnectionOpts,
)
from compiler_gym.service.proto import EndSessionRequest
from tests.processes import is_running, python_environment, wait_until
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

    def test_observation(self, env):
        kill_service(env)
        with pytest.raises(ServiceIsClosed):
            env.observation["text"]
        assert not env.in_episode
        assert env.reset() == "hello"

    def test_fork(self, env):
        kill_service(env)
        with pytest.raises(ServiceIsClosed):
            env.fork()
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
        assert env.step(NO_OP)[2]
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
        with pytest.raises(OSError, match=r"gave up after 5 attempts.*SessionDied: crashed"):
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

    def test_service_that_is_gone(self):
        service = FakeService()
        opts = ConnectionOpts(retry_wait_seconds=0.01, rpc_max_retries=2, init_max_attempts=2)
        env = ClientServiceCompilerEnv(service.address, connection_settings=opts)
        env.reset(benchmark=text_benchmark("7"))
        env.service.opts.rpc_init_max_seconds = 1
        service.__exit__()
        assert env.step(1)[3]["error_type"] == "ServiceTransportError"
        with pytest.raises(ServiceTransportError):
            env.reset()
        env.close()

    def test_sessions_are_ended(self, env, service):
        env.reset(benchmark=text_benchmark("7"))
        env.fork().close()
        env.reset()
        assert len(service.sessions) == 1
        env.close()
        assert service.sessions == {}

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


def test_ended_sessions_are_not_ended_twice(env):
    session_id = env._sessions.session.session_id
    service = env.service.retain()
    env.close()
    with pytest.raises(SessionNotFound, match=str(session_id)):
        service(service.stub.EndSession, EndSessionRequest(session_id=session_id))
    service.release()


# Prints the process id and working directory of the service, then follows the last line.
CLIENT = """
import sys, time
from tests.service.toy_service import make_toy_env
env = make_toy_env()
env.reset()
fork = env.fork()
service = env.service.service
print(service.pid, service.working_dir, flush=True)
{end}
"""


def run_client(end: str) -> tuple[int, Path, subprocess.Popen]:
    client = subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", CLIENT.format(end=end)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=python_environment(TOY_SERVICE=str(toy_service())),
    )
    pid, path = client.stdout.readline().split()
    return int(pid), Path(path), client


class TestLeaks:
    """See also no_traces_test, where clients end in the middle of a step."""

    @pytest.mark.parametrize(
        "end", ["", "sys.exit(3)", "raise KeyboardInterrupt", "env.service.restart()"]
    )
    def test_after_exit(self, end, cache_root):
        pid, _, client = run_client(end)
        _, errors = client.communicate(timeout=100)
        assert not is_running(pid)
        assert list(cache_root.iterdir()) == []
        assert errors == "" or end not in ("", "sys.exit(3)")
        assert re.search("Exception ignored|Fatal", errors) is None

    def test_after_the_client_is_killed(self, cache_root):
        pid, path, client = run_client("time.sleep(1000)")
        assert is_running(pid)
        assert path.is_dir()
        client.kill()
        client.communicate()
        wait_until(lambda: not is_running(pid))
        # The next process that starts a service cleans up.
        _, other_path, other = run_client("")
        other.communicate(timeout=100)
        assert other_path != path
        assert list(cache_root.iterdir()) == []
