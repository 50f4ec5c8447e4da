"""Waiting for any of several replies."""

import itertools
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from compiler_gym.service.transport import reply_polling
from compiler_gym.service.transport.reply_polling import ReplyPolling, ReplyWaiting


class Reply:
    """A reply that comes when it is told to."""

    def __init__(self, deadline=None):
        self.deadline = deadline
        self._ours, self._theirs = socket.socketpair()
        self.fd = self._ours.fileno()

    def come(self):
        self._theirs.send(b"!")

    def close(self):
        self._ours.close()
        self._theirs.close()


@pytest.fixture
def replies():
    made = [Reply() for _ in range(4)]
    yield made
    for reply in made:
        reply.close()


def test_order(replies):
    waiting = ReplyWaiting(replies, ReplyPolling())
    for number in (2, 0, 3):
        assert waiting.take(wait=False) == []
        replies[number].come()
        assert waiting.take(wait=True) == [replies[number]]
    assert waiting.take(wait=False) == []


def test_several(replies):
    replies[3].come()
    replies[1].come()
    waiting = ReplyWaiting(replies, ReplyPolling())
    assert set(waiting.take(wait=True)) == {replies[1], replies[3]}
    assert waiting.take(wait=False) == []


@pytest.mark.parametrize("seconds", [0.0001, 0.3])
def test_sleeping(replies, seconds):
    """Polls for what comes at once, and sleeps until what takes longer is there."""
    polling = ReplyPolling()
    thread = threading.Timer(seconds, replies[2].come)
    thread.start()
    used = time.process_time()
    assert ReplyWaiting(replies, polling).take(wait=True) == [replies[2]]
    assert time.process_time() - used < 0.1
    thread.join()


@pytest.mark.parametrize(("nanoseconds", "polls"), [(2_000_000, False), (100, True)])
def test_polling_is_learnt(replies, monkeypatch, nanoseconds, polls):
    """By a clock that ticks so often as it is looked at."""
    ticks = itertools.count(step=nanoseconds)
    clock = SimpleNamespace(perf_counter_ns=lambda: next(ticks), monotonic=time.monotonic)
    monkeypatch.setattr(reply_polling, "time", clock)
    replies[0].come()
    polling = ReplyPolling()
    for _ in range(20):
        assert ReplyWaiting(replies[:1], polling).take(wait=True)
    assert (polling.budget_ns > 0) is polls


def test_nothing_to_wait_for(replies):
    assert ReplyWaiting([], ReplyPolling()).take(wait=True) == []
    replies[1].fd = -1
    waiting = ReplyWaiting(replies, ReplyPolling())
    assert waiting.take(wait=True) == [replies[1]]
    replies[2].come()
    assert waiting.take(wait=True) == [replies[2]]


def test_deadlines():
    now = time.monotonic()
    # If it waited for a later deadline, the test would run into its own time limit.
    replies = [Reply(now + 0.2), Reply(now + 3600), Reply()]
    waiting = ReplyWaiting(replies, ReplyPolling())
    assert waiting.take(wait=True) == [replies[0]]
    assert time.monotonic() >= now + 0.2
    replies[2].come()
    assert waiting.take(wait=True) == [replies[2]]
    for reply in replies:
        reply.close()
