"""The polling time before a blocking wait for a reply.

Waking a sleeping process takes longer than a small step. Polling is faster for replies that arrive
within some tens of microseconds. Sleeping is better for slower ones, because polling takes
processor time from the service.
"""

import math
import os
import select
import time
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

#: The longest time to poll for a reply: about the cost of sleeping and waking.
MAX_POLL_NS = 50_000

_WEIGHT_OF_NEWEST = 1 / 8

# Caps the weight of one very slow reply among fast ones.
_SLOWEST_NS = 2 * MAX_POLL_NS

_MIN_PAUSE = 8
_MAX_PAUSE = 1024


class ReplyPolling:
    """Learns from the replies on a socket whether to poll for the next one.

    It polls as long as an exponentially weighted mean of the reply times is below the limit. Then
    it pauses, and tries again after 8 requests, 16, 32, up to 1024 if the trials fail: times
    measured during a pause are not usable, because they include the wakeup.

    Attributes:
        budget_ns: The time to poll for the next reply in nanoseconds; 0 to not poll.
    """

    __slots__ = ("_is_trial", "_mean_ns", "_pause", "_requests_left", "budget_ns")

    def __init__(self) -> None:
        self.budget_ns = MAX_POLL_NS
        self._mean_ns = MAX_POLL_NS / 2
        self._is_trial = False
        self._pause = _MIN_PAUSE
        self._requests_left = 0

    def record(self, elapsed_ns: int) -> None:
        """Records the time of a reply, polled for or not."""
        if not self.budget_ns:
            self._requests_left -= 1
            if self._requests_left == 0:
                self._is_trial = True
                self.budget_ns = MAX_POLL_NS
            return
        elapsed_ns = min(elapsed_ns, _SLOWEST_NS)
        if self._is_trial:
            # The mean from before the pause is out of date.
            self._is_trial = False
            self._mean_ns = (elapsed_ns + MAX_POLL_NS) / 2
        else:
            self._mean_ns += (elapsed_ns - self._mean_ns) * _WEIGHT_OF_NEWEST
        if self._mean_ns > MAX_POLL_NS:
            self._stop()
        elif self._mean_ns < MAX_POLL_NS / 2:
            self._pause = _MIN_PAUSE

    def _stop(self) -> None:
        self.budget_ns = 0
        self._requests_left = self._pause
        self._pause = min(2 * self._pause, _MAX_PAUSE)


# The longest time that poll() can be asked to wait, in milliseconds. It is then asked again.
_MAX_WAIT_MS = 10**9


class PendingReply(Protocol):
    """A pending reply."""

    @property
    def deadline(self) -> float | None:
        """The time to stop waiting, by :func:`time.monotonic`; None for never."""

    @property
    def fd(self) -> int:
        """A descriptor that is readable as soon as there is something of the reply.

        -1 if there is nothing to wait for.
        """


_Reply = TypeVar("_Reply", bound=PendingReply)


class ReplyWaiting(Generic[_Reply]):
    """Waits for several replies, in the order of their arrival.

    Args:
        replies: The replies.
        polling: Learns whether to poll. Reuse it for the next replies of the same sessions.
    """

    def __init__(self, replies: Iterable[_Reply], polling: ReplyPolling):
        self._polling = polling
        self._poll = select.poll()
        self._by_fd: dict[int, _Reply] = {}
        # Replies that are complete or broken.
        self._there: list[_Reply] = []
        for reply in replies:
            if reply.fd < 0:
                self._there.append(reply)
            else:
                self._by_fd[reply.fd] = reply
                self._poll.register(reply.fd, select.POLLIN)

    def take(self, wait: bool) -> list[_Reply]:
        """Returns the replies that have arrived since the last call, and those that are overdue.

        Args:
            wait: Wait until there is one, if any are left.
        """
        taken, self._there = self._there, []
        if not self._by_fd:
            return taken
        wait = wait and not taken
        for fd in self._wait() if wait else self._look():
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
            # If all processors are busy, the other side may be waiting for this one.
            os.sched_yield()
            ready = self._look()
        ready = ready or self._sleep()
        self._polling.record(time.perf_counter_ns() - start)
        return ready

    def _sleep(self) -> list[int]:
        deadlines = [reply.deadline for reply in self._by_fd.values() if reply.deadline is not None]
        return _sleep_until(self._poll, min(deadlines, default=None)) or self._overdue()

    def _overdue(self) -> list[int]:
        now = time.monotonic()
        return [
            fd
            for fd, reply in self._by_fd.items()
            if reply.deadline is not None and reply.deadline <= now
        ]


def _sleep_until(poll: select.poll, deadline: float | None) -> list[int]:
    """Waits for descriptors. Returns those that are readable; none if the deadline has passed."""
    while True:
        left = math.inf if deadline is None else max(deadline - time.monotonic(), 0)
        if ready := poll.poll(math.ceil(min(left * 1000, _MAX_WAIT_MS))):
            return [fd for fd, _ in ready]
        if left == 0:
            return []
