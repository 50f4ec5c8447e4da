"""Parts of a program that Ctrl-C and SIGTERM do not stop halfway."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from compiler_gym.util.interrupts import ENDING_SIGNALS


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Holds Ctrl-C and SIGTERM back until the end of the ``with`` block.

    Then the first of them takes effect. In other threads than the main one, which no signal
    interrupts, it does nothing.
    """
    held: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    former = {
        number: signal.signal(number, lambda number, _: held.append(number))
        for number in ENDING_SIGNALS
        # A handler of a library, not of Python, cannot be set again.
        if is_main and signal.getsignal(number) is not None
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])
