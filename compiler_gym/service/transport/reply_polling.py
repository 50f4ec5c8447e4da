"""How long to poll for a reply before waiting for it asleep.

To wake a sleeping process takes longer than a small step. A reply that comes within some tens of
microseconds is therefore best polled for, and one that does not is best slept for: polling would
only take the processor from those who work on it.
"""

#: The longest time to poll for a reply. About what it costs to fall asleep and be woken.
MAX_POLL_NS = 50_000

_WEIGHT_OF_NEWEST = 1 / 8

# One very slow reply among fast ones is no reason to stop, several are.
_SLOWEST_NS = 2 * MAX_POLL_NS

_MIN_PAUSE = 8
_MAX_PAUSE = 1024


class ReplyPolling:
    """Learns from the replies on a socket whether to poll for the next one.

    It polls as long as an exponentially weighted mean of the reply times is below the limit. Then
    it pauses, and tries again after 8 requests, 16, 32, up to 1024 if the trials fail: times
    measured in between are no help, because they contain that of waking up.

    Attributes:
        budget_ns: How many nanoseconds to poll for the next reply; 0 for not at all.
    """

    __slots__ = ("_is_trial", "_mean_ns", "_pause", "_requests_left", "budget_ns")

    def __init__(self) -> None:
        self.budget_ns = MAX_POLL_NS
        self._mean_ns = MAX_POLL_NS / 2
        self._is_trial = False
        self._pause = _MIN_PAUSE
        self._requests_left = 0

    def record(self, elapsed_ns: int) -> None:
        """To be called with the time that each reply took, polled for or not."""
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
