"""Orderings."""

from typing import Any

import numpy as np

from compiler_gym.spaces.scalar import Scalar
from compiler_gym.spaces.sequence import Sequence

# Longer permutations do not fit into memory; the range has the bounds of its dtype.
_MAX_SIZE = 2**32


class Permutation(Sequence):
    """All integers of a range, each once, in any order.

    Attributes:
        scalar_range: The integers to order, from ``min`` to ``max`` inclusive.
    """

    scalar_range: Scalar

    def __init__(
        self,
        name: str | None,
        scalar_range: Scalar,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space.

        Raises:
            TypeError: The range is not one of integers.
            ValueError: The range has no bounds of its own.
        """
        if scalar_range.dtype.kind not in "iu":
            raise TypeError(
                f"Permutation {name!r} needs a range of integers, but that of {scalar_range} "
                f"has values of {scalar_range.dtype}"
            )
        size = scalar_range.max - scalar_range.min + 1
        if size > _MAX_SIZE:
            raise ValueError(f"Permutation {name!r} needs a bounded range, but has {scalar_range}")
        super().__init__(
            name=name,
            size_range=(size, size),
            dtype=scalar_range.dtype,
            scalar_range=scalar_range,
            seed=seed,
        )

    def contains(self, x: Any) -> bool:
        """Returns true if a value has all integers of the range, each once."""
        return super().contains(x) and len(np.unique(x)) == len(x)

    def sample(self, mask: None = None, probability: None = None) -> np.ndarray:
        """Draws an ordering uniformly, as a one-dimensional array."""
        first, last = self.scalar_range.min, self.scalar_range.max
        return self.np_random.permutation(np.arange(first, last + 1, dtype=self.dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permutation) and super().__eq__(other)

    def __repr__(self) -> str:
        return f"Permutation(name={self.name!r}, scalar_range={self.scalar_range})"
