"""Tests of polling for replies."""

import socket
import threading
import time

from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import REPLY_HEADER, REQUEST_HEADER
from compiler_gym.service.transport.reply_polling import MAX_POLL_NS, ReplyPolling

FAST, SLOW = MAX_POLL_NS // 5, 100 * MAX_POLL_NS


def polled(polling: ReplyPolling, times: list[int]) -> list[bool]:
    """Returns for each reply whether it was polled for."""
    results = []
    for elapsed in times:
        results.append(polling.budget_ns > 0)
        polling.record(elapsed)
    return results


def test_stops_again_when_replies_become_slow():
    polling = ReplyPolling()
    polled(polling, [FAST] * 1000)
    assert sum(polled(polling, [SLOW] * 200)) < 20


def test_a_lucky_trial_does_not_last():
    polling = ReplyPolling()
    polled(polling, [SLOW] * 1000)
    while not polling.budget_ns:
        polling.record(SLOW)
    polling.record(FAST)
    assert sum(polled(polling, [SLOW] * 100)) < 10


def serve(connection: socket.socket, seconds: float) -> None:
    with connection:
        while header := connection.recv(REQUEST_HEADER.size):
            time.sleep(seconds)
            connection.sendall(REPLY_HEADER.pack(0, 0, 0, 0) if header else b"")


def test_a_socket_sleeps_through_slow_replies(monkeypatch):
    """Of 200 requests of 2 ms, hardly any are polled for: polling would show as CPU time."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs, 0.002))
    thread.start()
    client = FrameSocket(ours)
    polls = []
    poll = client._poll
    monkeypatch.setattr(client, "_poll", lambda *args: polls.append(1) or poll(*args))
    begin = time.thread_time()
    for _ in range(200):
        assert client.call(6, b"", 10) == (0, b"")
    used = time.thread_time() - begin
    client.close()
    thread.join()
    assert len(polls) < 20
    assert used < 0.2 * 200 * 0.002
