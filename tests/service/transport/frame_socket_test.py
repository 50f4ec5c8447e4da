"""Sockets of the direct channel."""

import contextlib
import os
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator

import grpc
import pytest

from compiler_gym.errors import ServiceTransportError
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import (
    LOST_FD,
    REPLY_HEADER,
    REQUEST_HEADER,
    ChannelBroken,
    DirectRpcError,
    close_fds,
)

STEP = 6


@pytest.fixture
def pair():
    """A client, and the socket at the other side."""
    ours, theirs = socket.socketpair()
    client = FrameSocket(ours)
    with theirs:
        yield client, theirs
    client.close()


def reply(payload: bytes, code: int = 0) -> bytes:
    return REPLY_HEADER.pack(len(payload), code, 0, 0) + payload


@contextlib.contextmanager
def meanwhile(target, *args) -> Iterator[None]:
    """Runs a function in another thread."""
    thread = threading.Thread(target=target, args=args)
    thread.start()
    yield
    thread.join()


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_a_call_runs_a_function_before_the_reply(pair):
    client, service = pair
    done = []

    def act() -> None:
        done.append(service.recv(100)[16:])
        service.sendall(reply(b"yes"))

    assert client.call(STEP, b"payload", 100, meanwhile=act) == (0, b"yes")
    assert done == [b"payload"]


@pytest.mark.parametrize("sizes", [(0,), (5, 0, 7), (65_520,), (65_521,), (200_000, 1)])
@pytest.mark.parametrize("last", [0, 3, 200_000])
def test_replies_that_are_skipped(pair, sizes, last):
    client, service = pair
    payload = os.urandom(last)
    replies = b"".join(reply(bytes(size), code=5) for size in sizes) + reply(payload)
    before = [(STEP + 1, b"before")] * len(sizes)
    with meanwhile(service.sendall, replies):
        assert client.call(STEP, b"payload", 100, before=before) == (0, payload)
    received = service.recv(10_000)
    assert received.count(b"before") == len(sizes)
    assert received.endswith(b"payload")


@pytest.mark.parametrize("is_divided", [False, True])
def test_requests_that_do_not_fit_into_the_socket(pair, is_divided):
    client, service = pair
    payload = os.urandom(3_000_000)
    received = bytearray()

    def serve() -> None:
        while len(received) < 16 + len(payload):
            time.sleep(0.001)
            received.extend(service.recv(300_000))
        service.sendall(reply(payload))

    with meanwhile(serve):
        if is_divided:
            client.begin(STEP, payload, 60)
            assert client.finish() == (0, payload)
        else:
            assert client.call(STEP, payload, 100) == (0, payload)
    assert received[16:] == payload


def test_time_limit_of_sending(pair, monkeypatch):
    monkeypatch.setattr("compiler_gym.service.transport.frame_socket.GRACE_SECONDS", 0.05)
    client, _ = pair
    with pytest.raises(DirectRpcError) as caught:
        client.call(STEP, bytes(5_000_000), 0.05)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert client.closed


def test_closed_before_the_request(pair):
    client, service = pair
    service.close()
    with pytest.raises(ChannelBroken) as caught:
        client.call(STEP, b"", 100)
    assert not caught.value.was_sent
    assert client.closed
    with pytest.raises(ChannelBroken):
        client.call(STEP, b"", 100)


@pytest.mark.parametrize("sent", [b"", reply(b"yes")[:10], reply(b"yes")[:18]])
def test_closed_in_the_middle_of_a_reply(pair, sent):
    client, service = pair
    service.sendall(sent)
    service.shutdown(socket.SHUT_WR)
    with pytest.raises(ChannelBroken) as caught:
        client.call(STEP, b"", 100)
    assert caught.value.was_sent
    assert client.closed


def test_close_wakes_waiting_calls(pair):
    client, service = pair
    failures = []

    def call() -> None:
        try:
            client.call(STEP, b"", None)
        except ChannelBroken as error:
            failures.append(error)

    with meanwhile(call):
        service.recv(16)
        client.close()
    assert len(failures) == 1


class TestDescriptors:
    def test_received(self, pair):
        client, service = pair
        reader, writer = os.pipe()
        socket.send_fds(service, [reply(b"yes")], [writer])
        fds = []
        assert client.call(3, b"", 100, fds) == (0, b"yes")
        (fd,) = fds
        assert not os.get_inheritable(fd)
        os.write(fd, b"x")
        assert os.read(reader, 1) == b"x"
        for each in (fd, reader, writer):
            os.close(each)

    def test_closed_if_the_reply_is_no_good(self, pair):
        client, service = pair
        with open("/dev/null") as null:
            socket.send_fds(service, [reply(b"yes") + b"more"], [null.fileno()])
            fds, lowest_free = [], os.dup(null.fileno())
            os.close(lowest_free)
            with pytest.raises(ServiceTransportError):
                client.call(3, b"", 100, fds)
        assert fds == []
        assert not is_open(lowest_free)

    def test_not_for_steps(self, pair):
        """The operating system closes descriptors that are not asked for."""
        client, service = pair
        reader, writer = os.pipe()
        socket.send_fds(service, [reply(b"yes")], [writer])
        os.close(writer)
        assert client.call(STEP, b"", 100) == (0, b"yes")
        assert os.read(reader, 1) == b""
        os.close(reader)

    def test_too_many_open_files(self, pair):
        client, service = pair
        with open("/dev/null") as null:
            socket.send_fds(service, [reply(b"yes")], [null.fileno()])
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            fds = []
            assert client.call(3, b"", 100, fds) == (0, b"yes")
            assert fds == [LOST_FD]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        close_fds(fds)
        assert fds == []


class TestDivided:
    """Requests that are begun and finished later."""

    def test_frames(self, pair):
        client, service = pair
        client.begin(STEP, b"payload", 1.5)
        assert client.is_busy
        header, payload = REQUEST_HEADER.unpack(service.recv(16)), service.recv(100)
        assert (header, payload) == ((7, STEP, 0, 1_500_000), b"payload")
        service.sendall(reply(b"yes", code=3))
        assert client.finish() == (3, b"yes")
        assert not client.is_busy
        service.sendall(reply(b"again"))
        assert client.call(STEP, b"", 100) == (0, b"again")

    def test_descriptor(self, pair):
        client, service = pair
        client.begin(STEP, b"payload", 100)
        assert not select.select([client.fd], [], [], 0)[0]
        service.sendall(reply(b"yes"))
        assert select.select([client.fd], [], [], 100)[0]
        client.finish()

    def test_nothing_in_between(self, pair):
        client, service = pair
        client.begin(STEP, b"first", 100)
        for request in (client.call, client.begin):
            with pytest.raises(RuntimeError, match="in progress"):
                request(STEP, b"second", 1)
        service.sendall(reply(b"first"))
        assert client.finish() == (0, b"first")
        assert service.recv(100).endswith(b"first")

    def test_time_limits(self, pair, monkeypatch):
        monkeypatch.setattr("compiler_gym.service.transport.frame_socket.GRACE_SECONDS", 0.05)
        client, _ = pair
        with pytest.raises(DirectRpcError):
            client.begin(STEP, b"", 0)
        assert not client.is_busy
        client.begin(STEP, b"", 0.05)
        with pytest.raises(DirectRpcError) as caught:
            client.finish()
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert client.closed

    def test_closed_by_the_service(self, pair):
        client, service = pair
        client.begin(STEP, b"", 1)
        service.close()
        with pytest.raises(ChannelBroken):
            client.finish()
        assert client.closed
        with pytest.raises(ChannelBroken):
            client.begin(STEP, b"", 1)


def test_several_threads_may_ask_whether_it_is_quiet(pair):
    client, service = pair
    failures: list[Exception] = []

    def ask():
        try:
            assert all(client.is_quiet for _ in range(20_000))
        except Exception as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    service.close()
    assert not client.is_quiet
    assert not client.is_quiet
