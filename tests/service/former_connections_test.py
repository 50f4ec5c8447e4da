"""Tests of a connection's service, with the names and paths of former releases."""

import signal

import pytest

from compiler_gym.errors import ServiceIsClosed
from compiler_gym.service import ConnectionOpts
from compiler_gym.service.connection import (
    CompilerGymServiceConnection,
    Connection,
    ManagedConnection,
    UnmanagedConnection,
)
from compiler_gym.service.proto import GetVersionRequest
from compiler_gym.service.service_cache import ServiceCache
from tests.service.toy_service import HELLO, make_toy_env, toy_service


@pytest.fixture
def service():
    with CompilerGymServiceConnection(toy_service()) as service:
        yield service


def test_managed(service):
    connection = service.connection
    assert isinstance(connection, ManagedConnection)
    assert isinstance(connection, Connection)
    assert connection.url == f"127.0.0.1:{connection.port}"
    assert connection.stub is service.stub
    assert isinstance(connection.cache, ServiceCache)
    assert (connection.cache / "port.txt").read_text().strip() == str(connection.port)
    assert (connection.cache / "logs").is_dir()
    assert any("listening" in line for line in connection.loglines())


def test_the_url_can_be_connected_to(service):
    with CompilerGymServiceConnection(service.connection.url) as other:
        connection = other.connection
        assert isinstance(connection, UnmanagedConnection)
        assert connection.url == service.connection.url
        assert list(connection.loglines()) == []
        reply = other(connection.stub.GetVersion, GetVersionRequest())
        assert reply.compiler_version == "toy 1.0"


def test_process(service):
    process = service.connection.process
    assert process.pid == service.service.pid
    assert process.poll() is None
    assert process.returncode is None
    assert process.wait(timeout=0.01) is None
    process.kill()
    assert process.wait(timeout=100) == -signal.SIGKILL
    assert process.poll() == process.returncode == -signal.SIGKILL
    process.kill()  # Nothing happens.
    with pytest.raises(ServiceIsClosed, match="SIGKILL"):
        service(service.stub.GetVersion, GetVersionRequest())


def test_terminated_process(service):
    service.connection.process.terminate()
    assert service.connection.process.wait(timeout=100) == 0


def test_rpc_call_max_seconds():
    with make_toy_env(connection_settings=ConnectionOpts()) as env:
        env.reset(benchmark=HELLO)
        env.send_param("toy.set_sleep_milliseconds", "1000000")
        env.service.opts.rpc_call_max_seconds = 0.2
        _, _, done, info = env.step(env.action_space["sleep"])
        assert done
        assert info["error_type"] == "TimeoutError"
