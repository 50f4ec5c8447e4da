"""Measurement and formatting of durations."""

import time
from collections.abc import Callable


def humanize_duration(seconds: float) -> str:
    """Returns a duration in the unit that suits its size, e.g. ``"1.5ms"`` or ``"12.346s"``."""
    if seconds < 0:
        return "-" + humanize_duration(-seconds)
    if seconds == 0 or seconds >= 1:
        return f"{seconds:,.3f}s"
    for unit, scale in (("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.1f}{unit}"
    return f"{seconds * 1e9:.1f}ns"


def humanize_duration_hms(seconds: float) -> str:
    """Returns a duration as hours, minutes and whole seconds, e.g. ``"1:02:03"``."""
    if seconds < 0:
        return "-" + humanize_duration_hms(-seconds)
    minutes, whole_seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{whole_seconds:02d}"


class Timer:
    """Measures the time that a ``with`` block takes, and prints it if it is given a label.

    Example::

        with Timer("Compiled the benchmark") as timer:
            compile()                     # Prints "Compiled the benchmark in 1.234s".
        print(timer.time)                 # 1.234...

    Args:
        label: The label to print; None to print nothing.
        print_fn: Called with the line to print.
    """

    def __init__(self, label: str | None = None, print_fn: Callable[[str], object] = print):
        self.label = label
        self.print_fn = print_fn
        self._start: float | None = None
        self._elapsed: float | None = None

    def reset(self) -> "Timer":
        """Restarts the timer."""
        self._elapsed = None
        self._start = time.perf_counter()
        return self

    @property
    def time(self) -> float:
        """Seconds from the start to the end, or until now; 0 before the start."""
        if self._elapsed is not None:
            return self._elapsed
        return 0.0 if self._start is None else time.perf_counter() - self._start

    def __enter__(self) -> "Timer":
        return self.reset()

    def __exit__(self, *args: object) -> None:
        self._elapsed = self.time
        if self.label:
            self.print_fn(f"{self.label} in {self}")

    def __str__(self) -> str:
        return humanize_duration(self.time)
