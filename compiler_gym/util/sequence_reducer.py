"""Reduction of sequences to their relevant elements."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def reduce_sequence(sequence: Sequence[T], is_wrong: Callable[[list[T]], bool]) -> list[T]:
    """Removes elements from a sequence as long as it stays wrong.

    Args:
        sequence: A wrong sequence.
        is_wrong: Returns true if a part of it, in the same order, is wrong in the same way. Called
            about once for each element, plus a few times the logarithm of their number.

    Returns:
        A wrong sequence that is right without any single one of its elements.

    Raises:
        ValueError: If the sequence is not wrong to begin with.
    """
    kept = list(sequence)
    if not is_wrong(kept):
        raise ValueError("expected a sequence that fails, got one that does not")
    return [kept, *reductions(kept, is_wrong)][-1]


def reductions(sequence: Sequence[T], is_wrong: Callable[[list[T]], bool]) -> Iterator[list[T]]:
    """Yields the shorter and shorter wrong sequences of :func:`reduce_sequence`.

    Yields nothing if the sequence cannot be reduced. The sequence must be wrong.
    """
    kept = list(sequence)
    size = max(1, len(kept) // 2)
    while kept and size:
        length = len(kept)
        for shorter in _without_chunks(kept, size, is_wrong):
            kept = shorter
            yield kept
        # A needed element may become removable after a later one is removed.
        if size > 1 or length == len(kept):
            size //= 2


def _without_chunks(
    kept: list[T], size: int, is_wrong: Callable[[list[T]], bool]
) -> Iterator[list[T]]:
    """Goes over a sequence once, and removes chunks of a given size if possible."""
    start = 0
    while start < len(kept):
        shorter = kept[:start] + kept[start + size :]
        if is_wrong(shorter):
            kept = shorter
            yield kept
        else:
            start += size
