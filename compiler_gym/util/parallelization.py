"""Iterators that threads share."""

import itertools
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import TypeVar

_T = TypeVar("_T")


class _LockedIterator(Iterator[_T]):
    """An iterator that waits for its lock at each step."""

    def __init__(self, iterator: Iterator[_T], lock: Lock):
        self._iterator = iterator
        self._lock = lock

    def __next__(self) -> _T:
        with self._lock:
            return next(self._iterator)


def thread_safe_tee(iterable: Iterable[_T], n: int = 2) -> tuple[Iterator[_T], ...]:
    """Returns several iterators over the same values, as ``itertools.tee``.

    Different threads may use them.

    Args:
        iterable: The values.
        n: The number of iterators.
    """
    lock = Lock()
    return tuple(_LockedIterator(iterator, lock) for iterator in itertools.tee(iterable, n))
