"""The direct channel, as connections use it."""

import gc
import os
import time

import grpc
import pytest

from compiler_gym.errors import (
    ServiceIsClosed,
    ServiceTransportError,
    SessionDied,
    SessionNotFound,
)
from compiler_gym.service import CompilerGymServiceConnection, ConnectionOpts
from compiler_gym.service.proto import (
    AddBenchmarkRequest,
    Event,
    GetSpacesRequest,
    GetVersionRequest,
    StartSessionRequest,
)
from compiler_gym.service.session.session import Session
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import LOST_FD, MAX_PAYLOAD_BYTES, close_fds
from tests.service.fake_direct_service import FakeDirectService
from tests.service.fake_service import FakeService
from tests.service.toy_service import text_benchmark

FAST = ConnectionOpts(retry_wait_seconds=0.01)
ONE, TWO = Event(int64_value=1), Event(int64_value=2)
CRASH = (grpc.StatusCode.ABORTED, "ended by signal 11\nReproducer: /a/b")


@pytest.fixture
def service():
    with FakeDirectService() as service:
        yield service


@pytest.fixture
def connection(service):
    with CompilerGymServiceConnection(service.address, FAST) as connection:
        service.direct_calls.clear()
        yield connection


def version(connection, **kwargs) -> str:
    return connection(connection.stub.GetVersion, GetVersionRequest(), **kwargs).compiler_version


def start(connection, text: str = "10") -> Session:
    request = StartSessionRequest(benchmark=text_benchmark(text).proto)
    return Session.start(connection, request, timeout=100)[0]


def total(session: Session, *actions: Event, timeout: float = 10) -> int:
    return session.step(actions, (0,), timeout).observation[0].int64_value


def open_fds() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


class TestUse:
    def test_all_methods(self, connection, service):
        stub = connection.stub
        assert connection(stub.GetSpaces, GetSpacesRequest()).action_space_list[0].name == "Add"
        benchmark = text_benchmark("5").proto
        connection(stub.AddBenchmark, AddBenchmarkRequest(benchmark=[benchmark]))
        request = StartSessionRequest()
        request.benchmark.uri = benchmark.uri
        session, _ = Session.start(connection, request, timeout=100)
        assert session.send_params([("a", "b")]) == ["b"]
        assert total(session, ONE) == 6
        fork = session.fork()
        assert total(fork, TWO) == 8
        assert total(session) == 6
        fork.end(10)
        session.end(10)
        assert service.sessions == {}
        assert [kind for kind, method in service.direct_calls if method == "Step"] == [
            "session"
        ] * 3
        assert [method for kind, method in service.direct_calls if kind == "service"] == [
            "GetSpaces",
            "AddBenchmark",
            "StartSession",
            "SendSessionParameter",
            "ForkSession",
            "EndSession",
            "EndSession",
        ]

    @pytest.mark.parametrize("size", [None, 1, 3, 16, 17, 1000])
    def test_sessions_that_end_with_the_next_request(self, connection, service, size):
        first, second, third = (start(connection, text) for text in ("1", "2", "3"))
        service.piece_bytes = size
        service.direct_calls.clear()
        first.end(10, wait=False)
        second.end(10, wait=False)
        assert service.direct_calls == []
        assert total(third, ONE) == 4
        assert version(connection) == "adder"
        assert list(service.sessions) == [third.session_id]
        methods = [method for kind, method in service.direct_calls if kind == "service"]
        assert methods == ["EndSession", "EndSession", "GetVersion"]
        with pytest.raises(SessionNotFound):
            total(first)
        fourth = start(connection)
        assert total(fourth) == 10

    def test_sessions_that_end_with_the_connection(self, service):
        with CompilerGymServiceConnection(service.address, FAST) as connection:
            start(connection).end(10, wait=False)
            assert len(service.sessions) == 1
        assert service.sessions == {}

    def test_sessions_that_end_by_grpc_when_the_channel_broke(self, connection, service):
        session = start(connection)
        session.end(10, wait=False)
        service.broken.add("EndSession")
        assert version(connection) == "adder"
        assert service.sessions == {}

    def test_errors(self, connection):
        with pytest.raises(SessionNotFound, match="77"):
            Session(connection, 77).end(10)
        with pytest.raises(TypeError):
            connection(connection.stub.GetVersion, "not a message")
        assert version(connection) == "adder"
        assert connection.is_direct

    def test_nothing_stays_open(self, service):
        before = open_fds()
        with CompilerGymServiceConnection(service.address) as connection:
            session = start(connection)
            session.fork().end(10)
            total(session, ONE)
        assert open_fds() - before < 8  # The ends of the fake, which are in this process too.
        with pytest.raises(ServiceIsClosed):
            total(session)


class TestFallback:
    def check_grpc(self, connection, service, calls=()):
        assert not connection.is_direct
        session = start(connection)
        assert total(session, ONE) == 11
        assert total(session.fork(), ONE) == 12
        session.end(10)
        assert service.direct_calls == list(calls)

    def test_service_without(self):
        with (
            FakeService() as service,
            CompilerGymServiceConnection(service.address) as connection,
        ):
            assert not connection.is_direct
            assert not connection.isolates_sessions
            assert version(connection) == "adder"

    @pytest.mark.parametrize("fault", [{"is_listening": False}, {"hangs_up": True}])
    def test_refused_connection(self, fault):
        with (
            FakeDirectService(**fault) as service,
            CompilerGymServiceConnection(service.address) as connection,
        ):
            assert connection.isolates_sessions
            self.check_grpc(connection, service)

    def test_first_request_fails(self):
        with FakeDirectService() as service:
            service.failures["GetVersion"] = [(grpc.StatusCode.INTERNAL, "oops")]
            with CompilerGymServiceConnection(service.address) as connection:
                self.check_grpc(connection, service, [("service", "GetVersion")])

    def test_channel_that_ceases_to_work(self, connection, service):
        session = start(connection)
        service.hangs_up = True
        service.break_connections()
        for _ in range(3):
            assert version(connection) == "adder"
        assert not connection.is_direct
        assert total(session, ONE) == 11
        assert service.direct_calls[-1] == ("session", "Step")
        assert total(session.fork(), ONE) == 12  # By gRPC.

    def test_request_that_breaks_is_repeated(self, connection, service):
        service.broken = {"StartSession"}
        session = start(connection)
        assert service.calls.count("StartSession") == 1
        assert total(session, ONE) == 11

    def test_actions_are_not_applied_twice(self, service):
        with CompilerGymServiceConnection(service.address, FAST) as connection:
            service.broken = {"StartSession"}
            session = start(connection)  # By gRPC, so it has no socket of its own.
            service.broken = {"Step"}
            with pytest.raises(ServiceTransportError, match="step"):
                total(session, ONE)
            assert "Step" not in service.calls
            assert total(session) == 10  # Without actions, it can do no harm.


class TestDeadSessions:
    def test_the_service_tells_how(self, connection, service):
        service.fatal[2] = CRASH
        session = start(connection)
        other = session.fork()
        for _ in range(3):
            with pytest.raises(SessionDied) as caught:
                total(session, TWO)
            assert str(caught.value) == CRASH[1]
        steps = [kind for kind, method in service.direct_calls if method == "Step"]
        assert steps == ["session", "service", "service", "service"]
        session.end(10)
        assert total(other, ONE) == 11
        assert connection.is_direct

    def test_by_grpc_if_need_be(self, connection, service):
        service.fatal[2] = CRASH
        session = start(connection)
        service.hangs_up = True
        service.break_connections()
        with pytest.raises(SessionDied):
            total(session, TWO)

    def test_lost_socket_of_a_living_session(self, connection, service):
        session = start(connection)
        service.break_session(session.session_id)
        assert total(session, ONE) == 11
        assert total(session, ONE) == 12
        assert service.direct_calls[-2:] == [("service", "Step")] * 2
        assert connection.stub._sockets_of_sessions == {}


class TestLimits:
    def test_no_reply(self, connection, service):
        session = start(connection)
        service.mute = {"Step"}
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            total(session, timeout=0.1)
        assert time.monotonic() - begin >= 1
        assert version(connection) == "adder"

    def test_time_that_is_over(self, connection, service):
        with pytest.raises(TimeoutError):
            version(connection, timeout=0)
        assert service.direct_calls == []

    def test_the_service_keeps_the_limit(self, connection, service, monkeypatch):
        """And has some time to tell about it."""
        monkeypatch.setattr("compiler_gym.service.transport.frame_socket.GRACE_SECONDS", 100)
        service.delays["Step"] = 0.4
        service.failures["Step"] = [(grpc.StatusCode.DEADLINE_EXCEEDED, "was killed in pass x")]
        with pytest.raises(TimeoutError, match="pass x"):
            total(start(connection), timeout=0.1)

    @pytest.mark.parametrize("size", [MAX_PAYLOAD_BYTES + 1, 2**32 - 1])
    def test_impossible_size(self, connection, service, size):
        session = start(connection)
        service.announced_bytes = size
        with pytest.raises(ServiceTransportError, match=str(size)):
            total(session)

    def test_reply_longer_than_announced(self, connection, service):
        service.announced_bytes = 0
        with pytest.raises(ServiceTransportError, match="unexpected"):
            version(connection)

    def test_interrupt_closes_the_socket(self, connection, service, monkeypatch):
        session = start(connection)
        (sock,) = connection.stub._sockets_of_sessions.values()

        def interrupt(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(sock, "_receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            total(session, ONE)
        assert sock.closed
        assert connection.stub._sockets_of_sessions == {}
        session.end(10)


def test_interrupted_start_of_a_session(connection, monkeypatch):
    """Its reply may be there already. The next request must not take it for its own."""
    request = StartSessionRequest(benchmark=text_benchmark("10").proto)
    begun = connection.stub.begin_session(request, 100)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FrameSocket, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            connection.stub.finish_session(begun)
    assert begun.sock.closed
    assert version(connection) == "adder"


def test_session_whose_socket_was_lost(connection, service, monkeypatch):
    """As happens with too many open files. It has ended then, so there is another one."""
    exchange = FrameSocket.exchange

    def losing_exchange(sock, method, request, timeout, fds=None, *args):
        reply = exchange(sock, method, request, timeout, fds, *args)
        if fds:
            close_fds(fds)
            fds.append(LOST_FD)
        return reply

    monkeypatch.setattr(FrameSocket, "exchange", losing_exchange)
    session = start(connection)
    assert list(service.sessions) == [session.session_id]
    assert total(session, ONE) == 11
    assert connection.is_direct
