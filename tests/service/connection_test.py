"""Connections to services."""

import os
import signal
import time

import grpc
import pytest

from compiler_gym.errors import (
    ServiceError,
    ServiceInitError,
    ServiceIsClosed,
    ServiceOSError,
    ServiceTransportError,
)
from compiler_gym.service import CompilerGymServiceConnection, ConnectionOpts
from compiler_gym.service.proto import (
    Event,
    GetVersionRequest,
    StartSessionRequest,
    StepRequest,
)
from tests.service.fake_service import FakeService
from tests.service.toy_service import is_running, text_benchmark, toy_service

FAST = ConnectionOpts(retry_wait_seconds=0.01)
UNAVAILABLE = (grpc.StatusCode.UNAVAILABLE, "lost")


@pytest.fixture
def connection():
    with CompilerGymServiceConnection(toy_service()) as connection:
        yield connection


@pytest.fixture
def fake():
    with FakeService() as service:
        yield service


def version(connection: CompilerGymServiceConnection, **kwargs) -> str:
    return connection(connection.stub.GetVersion, GetVersionRequest(), **kwargs).compiler_version


def test_close():
    connection = CompilerGymServiceConnection(toy_service())
    pid = connection.service.pid
    connection.close()
    assert connection.closed
    assert not connection.is_alive
    assert not is_running(pid)
    with pytest.raises(ServiceIsClosed):
        version(connection)
    connection.close()


@pytest.mark.parametrize(
    "endpoint",
    ["", None, 8080, "localhost", "localhost:", ":80", "/bin/sh", "localhost:0", "localhost:65536"],
)
def test_malformed_endpoint(endpoint):
    with pytest.raises(TypeError, match="host:port"):
        CompilerGymServiceConnection(endpoint)


def test_unreachable_address():
    opts = ConnectionOpts(init_max_attempts=2, rpc_max_retries=1, retry_wait_seconds=0.01)
    with pytest.raises(ServiceTransportError):
        CompilerGymServiceConnection("127.0.0.1:1", opts)


@pytest.mark.parametrize(
    ("script", "starts", "match"),
    [
        ("exit 1", 1, "code 1"),
        ("kill -ABRT $$", 2, "SIGABRT"),
        ('[ $(wc -l < log) -lt 2 ] && kill -ABRT $$\nexec SERVICE "$@"', 2, None),
    ],
)
def test_an_executable_that_crashes_is_tried_again(tmp_path, monkeypatch, script, starts, match):
    """One that exits is not."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "service"
    path.write_text(
        f"#!/bin/sh\necho started >> log\n{script}\n".replace("SERVICE", str(toy_service()))
    )
    path.chmod(0o700)
    opts = ConnectionOpts(init_max_attempts=2)
    if match is None:
        with CompilerGymServiceConnection(path, opts) as connection:
            assert version(connection) == "toy 1.0"
    else:
        with pytest.raises(ServiceInitError, match=match):
            CompilerGymServiceConnection(path, opts)
    assert (tmp_path / "log").read_text() == "started\n" * starts


def test_timeout():
    connection = CompilerGymServiceConnection(toy_service())
    benchmark = text_benchmark("hello").proto
    reply = connection(connection.stub.StartSession, StartSessionRequest(benchmark=benchmark))
    hang = StepRequest(session_id=reply.session_id, action=[Event(int64_value=11)])
    with pytest.raises(TimeoutError):
        connection(connection.stub.Step, hang, timeout=0.2)
    with pytest.raises(ServiceError, match="SIGKILL"):
        connection.close(exit_max_seconds=0)


def test_killed_service_is_noticed_at_once():
    connection = CompilerGymServiceConnection(
        toy_service(), ConnectionOpts(retry_wait_seconds=1000)
    )
    os.kill(connection.service.pid, signal.SIGKILL)
    with pytest.raises(ServiceIsClosed, match="SIGKILL"):
        version(connection)
    assert not connection.is_alive
    assert not connection.closed
    connection.close()  # Does not say it again.


def test_close_reports_an_abnormal_exit_once():
    connection = CompilerGymServiceConnection(toy_service())
    os.kill(connection.service.pid, signal.SIGSEGV)
    connection.service.exit_code(wait_seconds=100)
    with pytest.raises(ServiceError, match="SIGSEGV"):
        connection.close()
    connection.close()


def test_close_with_open_sessions():
    connection = CompilerGymServiceConnection(toy_service())
    benchmark = text_benchmark("hello").proto
    connection(connection.stub.StartSession, StartSessionRequest(benchmark=benchmark))
    with pytest.raises(ServiceError, match="code 6"):
        connection.close()


@pytest.mark.parametrize("has_crashed", [False, True])
def test_restart(connection, has_crashed):
    old = connection.service.pid
    if has_crashed:
        os.kill(old, signal.SIGKILL)
    connection.sent_benchmarks["a"] = b"b"
    connection.restart()
    assert connection.service.pid != old
    assert not is_running(old)
    assert version(connection) == "toy 1.0"
    assert connection.sent_benchmarks == {}


def test_the_last_user_closes():
    connection = CompilerGymServiceConnection(toy_service()).retain()
    assert connection.retain() is connection
    assert connection.is_shared
    connection.release()
    assert not connection.closed
    assert not connection.is_shared
    connection.release()
    assert connection.closed


def test_a_forked_process_cannot_use_the_connection(connection, monkeypatch):
    # Forking for good would be at the mercy of gRPC's handlers.
    monkeypatch.setattr(os, "getpid", lambda: 999_999_999)
    with pytest.raises(ServiceIsClosed, match="forked"):
        version(connection)
    monkeypatch.undo()
    assert version(connection) == "toy 1.0"


class TestRetries:
    def test_retries_are_limited(self, fake):
        connection = CompilerGymServiceConnection(fake.address, FAST)
        fake.failures["GetVersion"] = [UNAVAILABLE] * 100
        with pytest.raises(ServiceTransportError, match="lost"):
            version(connection)
        assert fake.calls.count("GetVersion") == 6
        with pytest.raises(ServiceTransportError):
            version(connection, max_retries=1)
        assert fake.calls.count("GetVersion") == 8

    def test_waits_grow(self, fake, monkeypatch):
        connection = CompilerGymServiceConnection(fake.address)
        waits = []
        monkeypatch.setattr(time, "sleep", waits.append)
        fake.failures["GetVersion"] = [UNAVAILABLE] * 4
        version(connection)
        assert waits == pytest.approx([0.1, 0.15, 0.225, 0.3375])
        waits.clear()
        fake.failures["GetVersion"] = [UNAVAILABLE] * 3
        version(connection, retry_wait_seconds=1, retry_wait_backoff_exponent=2)
        assert waits == [1, 2, 4]

    def test_other_errors_are_not_tried_again(self, fake):
        connection = CompilerGymServiceConnection(fake.address, FAST)
        fake.failures["GetVersion"] = [(grpc.StatusCode.RESOURCE_EXHAUSTED, "no memory")]
        with pytest.raises(ServiceOSError, match="no memory"):
            version(connection)
        assert fake.calls.count("GetVersion") == 1

    def test_actions_are_not_applied_twice(self, fake):
        connection = CompilerGymServiceConnection(fake.address, FAST)
        fake.failures["Step"] = [UNAVAILABLE] * 2
        step = StepRequest(session_id=1, action=[Event(int64_value=1)])
        with pytest.raises(ServiceTransportError):
            connection(connection.stub.Step, step)
        assert fake.calls.count("Step") == 1

    def test_actions_that_were_not_sent_are_tried_again(self, fake):
        connection = CompilerGymServiceConnection(fake.address, FAST)
        fake.benchmarks["a"] = b"0"
        start = StartSessionRequest()
        start.benchmark.uri = "a"
        reply = connection(connection.stub.StartSession, start)
        fake.failures["Step"] = [(grpc.StatusCode.UNAVAILABLE, "failed to connect to all")] * 2
        step = StepRequest(session_id=reply.session_id, action=[Event(int64_value=1)])
        connection(connection.stub.Step, step)
        assert fake.calls.count("Step") == 3
        assert fake.sessions[reply.session_id].total == 1
