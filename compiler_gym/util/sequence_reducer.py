"""Finds out which elements of a sequence matter."""

from collections.abc import Callable, Iterator, Sequence
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
    return [kept, *reductions(kept, is_wrong)][-1]


def reductions(sequence: Sequence[T], is_wrong: Callable[[list[T]], bool]) -> Iterator[list[T]]:
    """Yields the ever shorter wrong sequences that :func:`reduce_sequence` finds on its way.

    None, if the sequence cannot be reduced. It is taken to be wrong.
    """
    kept = list(sequence)
    size = max(1, len(kept) // 2)
    while kept and size:
        length = len(kept)
        for shorter in _without_chunks(kept, size, is_wrong):
            kept = shorter
            yield kept
        # An element that was needed may have become needless once a later one was gone.
        if size > 1 or length == len(kept):
            size //= 2


def _without_chunks(
    kept: list[T], size: int, is_wrong: Callable[[list[T]], bool]
) -> Iterator[list[T]]:
    """Goes over a sequence once and takes out what chunks of a size it can."""
    start = 0
    while start < len(kept):
        shorter = kept[:start] + kept[start + size :]
        if is_wrong(shorter):
            kept = shorter
            yield kept
        else:
            start += size
