"""Tensors of fixed shape."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

# For each kind of box, the kinds of dtype that a list of numbers in it may have.
_KINDS_OF_MEMBERS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


class Box(spaces.Box):
    """Tensors of fixed shape, bounded element by element; the bounds are included.

    For an integer dtype, a bound that equals the extreme of the dtype counts as none: such
    elements are sampled near the other bound instead of uniformly over all of, say, int64.

    Attributes:
        low: Least values, an array of ``shape`` and ``dtype``.
        high: Greatest values, an array of ``shape`` and ``dtype``.
        name: The name of the space.
    """

    def __init__(
        self,
        low: Any,
        high: Any,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = np.float32,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space. ``low`` and ``high`` are numbers, or arrays of one shape.

        Raises:
            ValueError: The shapes do not match, or a least value is above its greatest.
        """
        super().__init__(low, high, shape=shape, dtype=dtype, seed=seed)
        self.name = name
        if np.any(self.low > self.high):  # Some versions of gymnasium do not check this.
            raise ValueError(f"Box {name!r} has no values: {self.low} is not below {self.high}")
        if self.dtype.kind in "iu":
            limits = np.iinfo(self.dtype)  # type: ignore[type-var]
            self.bounded_below = self.bounded_below & (self.low != limits.min)
            self.bounded_above = self.bounded_above & (self.high != limits.max)

    def contains(self, x: Any) -> bool:
        """Returns true if a value is an array of the shape and dtype, within the bounds.

        Lists of numbers count as arrays, except lists of fractions in a box of integers.
        """
        if isinstance(x, np.ndarray):
            return super().contains(x)
        try:
            x = np.asarray(x)
        except ValueError:  # The lists in it are of different lengths.
            return False
        return (
            x.shape == self.shape
            and x.dtype.kind in _KINDS_OF_MEMBERS[self.dtype.kind]
            and bool(np.all(x >= self.low) and np.all(x <= self.high))
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.name == other.name and super().__eq__(other)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, name={self.name!r})"
