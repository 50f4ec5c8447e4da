"""Helpers for spaces of variable length."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

# The maximum number of elements of a sample beyond the minimum length. Longer samples take time
# and are hardly more useful.
MAX_SAMPLED_EXTRA_ELEMENTS = 16

SizeRange = tuple[int, int | None]


def checked_size_range(name: str | None, size_range: SizeRange) -> SizeRange:
    """Returns a range of lengths as a pair ``(least, greatest or None)`` of plain integers.

    Raises:
        ValueError: A bound is negative, or the least is above the greatest.
    """
    least, greatest = size_range
    least = int(least)
    greatest = None if greatest is None else int(greatest)
    if least < 0 or (greatest is not None and greatest < least):
        raise ValueError(
            f"Sequence {name!r} has no values: its length must be in [{least}, {greatest}]"
        )
    return least, greatest


def is_within(size: int, size_range: SizeRange) -> bool:
    """Says whether a length is in a range."""
    least, greatest = size_range
    return least <= size and (greatest is None or size <= greatest)


def sample_size(rng: np.random.Generator, size_range: SizeRange) -> int:
    """Draws a length from a range, uniformly up to the cap on the length of samples."""
    least, greatest = size_range
    cap = least + MAX_SAMPLED_EXTRA_ELEMENTS
    return int(rng.integers(least, cap if greatest is None else min(cap, greatest), endpoint=True))


def seed_with_children(
    space: Space[Any],
    seed_itself: Callable[[int | None], int],
    children: Iterable[Space[Any]],
    seed: int | None,
) -> int:
    """Seeds a space, and the spaces it is made of with seeds derived from it.

    Args:
        space: The space.
        seed_itself: Seeds the generator of the space alone.
        children: The spaces it is made of.
        seed: The seed, or None for a random one.

    Returns:
        The seed of the space itself.
    """
    result = seed_itself(seed)
    for child in children:
        child.seed(int(space.np_random.integers(np.iinfo(np.int32).max)))
    return result
