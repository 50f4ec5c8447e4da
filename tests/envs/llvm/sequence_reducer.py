"""Finds out which elements of a sequence matter."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def reduce_sequence(sequence: Sequence[T], is_wrong: Callable[[list[T]], bool]) -> list[T]:
    """Takes elements out of a sequence as long as something stays wrong with it.

    Args:
        sequence: A wrong sequence.
        is_wrong: Whether a part of it, in the same order, is wrong in the same way. Asked about
            once for each element, and some times the logarithm of their number.

    Returns:
        A wrong sequence which is right as soon as any one of its elements is taken out.

    Raises:
        ValueError: If the sequence is not wrong to begin with.
    """
    kept = list(sequence)
    if not is_wrong(kept):
        raise ValueError("Nothing is wrong with the sequence, so there is nothing to reduce")
    size = max(1, len(kept) // 2)
    while kept and size:
        shorter = _without_chunks(kept, size, is_wrong)
        # An element that was needed may have become needless once a later one was gone.
        if size > 1 or len(shorter) == len(kept):
            size //= 2
        kept = shorter
    return kept


def _without_chunks(kept: list[T], size: int, is_wrong: Callable[[list[T]], bool]) -> list[T]:
    """Goes over a sequence once and takes out what chunks of a size it can."""
    start = 0
    while start < len(kept):
        shorter = kept[:start] + kept[start + size :]
        if is_wrong(shorter):
            kept = shorter
        else:
            start += size
    return kept
