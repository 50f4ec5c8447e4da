"""Waiting for any of several replies."""

import math
import os
import select
import time
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from compiler_gym.service.transport.reply_polling import ReplyPolling

# The longest time that poll() can be asked to wait, in milliseconds. It is then asked again.
_MAX_WAIT_MS = 10**9


class PendingReply(Protocol):
    """A reply that is on its way.

    Attributes:
        deadline: When to stop waiting for it, by :func:`time.monotonic`; None for never.
        fd: A descriptor that is readable as soon as there is something of the reply; -1 if there is
            nothing to wait for.
    """

    deadline: float | None
    fd: int


_Reply = TypeVar("_Reply", bound=PendingReply)


class ReplyWaiting(Generic[_Reply]):
    """Waits for some replies, in the order in which they come.

    Args:
        replies: The replies.
        polling: Learns whether to poll for them. To be used again for the next replies of the same
            sessions.
    """

    def __init__(self, replies: Iterable[_Reply], polling: ReplyPolling):
        self._polling = polling
        self._poll = select.poll()
        self._by_fd: dict[int, _Reply] = {}
        # Those of which nothing more is to come.
        self._there: list[_Reply] = []
        for reply in replies:
            if reply.fd < 0:
                self._there.append(reply)
            else:
                self._by_fd[reply.fd] = reply
                self._poll.register(reply.fd, select.POLLIN)

    def take(self, waits: bool) -> list[_Reply]:
        """Returns the replies that have come since, and those that are overdue.

        Args:
            waits: Whether to wait until there is one, if there are any left.
        """
        taken, self._there = self._there, []
        if not self._by_fd:
            return taken
        waits = waits and not taken
        for fd in self._wait() if waits else self._look():
            self._poll.unregister(fd)
            taken.append(self._by_fd.pop(fd))
        return taken

    def _look(self) -> list[int]:
        return [fd for fd, _ in self._poll.poll(0)]

    def _wait(self) -> list[int]:
        start = time.perf_counter_ns()
        end = start + self._polling.budget_ns
        ready = self._look()
        while not ready and time.perf_counter_ns() < end:
            # Where all processors are busy, the other side may be waiting for this one.
            os.sched_yield()
            ready = self._look()
        ready = ready or self._sleep()
        self._polling.record(time.perf_counter_ns() - start)
        return ready

    def _sleep(self) -> list[int]:
        deadlines = [reply.deadline for reply in self._by_fd.values() if reply.deadline is not None]
        first = min(deadlines, default=None)
        while True:
            left = math.inf if first is None else max(first - time.monotonic(), 0)
            if ready := self._poll.poll(math.ceil(min(left * 1000, _MAX_WAIT_MS))):
                return [fd for fd, _ in ready]
            if left == 0:
                return self._overdue()

    def _overdue(self) -> list[int]:
        now = time.monotonic()
        return [
            fd
            for fd, reply in self._by_fd.items()
            if reply.deadline is not None and reply.deadline <= now
        ]
