"""Time limits of requests."""

import time

TIMEOUT = 300.0
"""The time limit of a request in seconds, if its caller names none."""


class Deadline:
    """A time limit that several requests share.

    Args:
        seconds: The limit, from now on.
    """

    def __init__(self, seconds: float):
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
