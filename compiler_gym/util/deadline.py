"""Time limits of requests."""

import math
import time

TIMEOUT = 300.0
"""The time limit of a request in seconds, if its caller names none."""


class Deadline:
    """A time limit that several requests share.

    Args:
        seconds: The limit, from now on. Infinity is no limit.

    Raises:
        TypeError: If it is no number.
        ValueError: If it is NaN.
    """

    def __init__(self, seconds: float):
        try:
            is_nan = math.isnan(seconds)
        except TypeError:
            raise TypeError(f"Expected a time limit in seconds, got {seconds!r}") from None
        if is_nan:
            raise ValueError("Expected a time limit in seconds, got nan")
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Returns the seconds that are left.

        Raises:
            TimeoutError: If no time is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"The time limit of {self._seconds:g} seconds was reached")
        return left
