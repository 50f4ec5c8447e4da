"""Time limits of rules."""

import time
from collections.abc import Callable

from compiler_gym.compliance.rule import Violation

_FIRST_POLL_SECONDS = 0.005
_MAX_POLL_SECONDS = 0.1


class Clock:
    """Counts down the time of one rule after the other.

    Args:
        seconds: The time that each rule may take.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.restart()

    def restart(self) -> None:
        """Restarts the clock."""
        self._begin = time.monotonic()

    def elapsed(self) -> float:
        """Returns the seconds since the beginning."""
        return time.monotonic() - self._begin

    def left(self) -> float:
        """Returns the seconds that are left.

        Raises:
            Violation: If no time is left.
        """
        left = self.seconds - self.elapsed()
        if left <= 0:
            raise Violation(f"it takes longer than the {self.seconds:g} seconds of --time-limit")
        return left

    def wait_until(self, condition: Callable[[], object], seconds: float) -> bool:
        """Waits until a condition holds, within the time limit. Returns true if it holds."""
        end = time.monotonic() + min(seconds, self.left())
        pause = _FIRST_POLL_SECONDS
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _MAX_POLL_SECONDS)
        return True
