"""A single number or truth value."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gymnasium import spaces


def is_scalar_of(value: Any, dtype: np.dtype) -> bool:
    """Returns true if a value has the same kind (truth value, integer, float) as a dtype.

    Python's own ``bool``, ``int`` and ``float`` count as well as numpy's scalars of any width.
    Truth values are not integers, and integers are not floats.
    """
    if dtype.kind == "b":
        return isinstance(value, (bool, np.bool_))
    if dtype.kind in "iu":
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return isinstance(value, (float, np.floating))


def extremes(dtype: np.dtype) -> tuple[Any, Any]:
    """Returns the least and the greatest value of a boolean, integer or floating dtype."""
    if dtype.kind == "b":
        return False, True
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if dtype.kind == "f":
        return -np.inf, np.inf
    raise TypeError(f"Expected a boolean, integer or floating dtype for a scalar, got {dtype}")


class Scalar(spaces.Box):
    """A number in a range that includes its bounds.

    It is a ``Box`` of shape ``()``, so that functions for boxes, such as flattening, work on it.
    Values are numbers rather than arrays.

    Attributes:
        name: The name of the space.
        min: The least value; the least of the dtype (minus infinity for floats) if not given.
        max: The greatest value; the greatest of the dtype (infinity for floats) if not given.
        dtype: The numpy dtype: boolean, integer or floating.
    """

    def __init__(
        self,
        name: str | None = None,
        min: float | None = None,
        max: float | None = None,
        dtype: Any = np.float64,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space.

        Raises:
            TypeError: The dtype is not boolean, integer or floating.
            ValueError: ``min`` is greater than ``max``, or one of them is not a number.
        """
        dtype = np.dtype(dtype)
        least, greatest = extremes(dtype)
        self.name = name
        # Bounds beyond the dtype's, such as infinity for an integer, do not limit anything.
        self.min = least if min is None or min <= least else _number(min, math.ceil, dtype)
        self.max = greatest if max is None or max >= greatest else _number(max, math.floor, dtype)
        if not self.min <= self.max:
            raise ValueError(
                f"Scalar {name!r} has no values: its bounds are [{self.min}, {self.max}]"
            )
        super().__init__(
            np.array(self.min, dtype), np.array(self.max, dtype), shape=(), dtype=dtype, seed=seed
        )

    def contains(self, x: Any) -> bool:
        """Returns true if a value has the kind of the dtype and is within the bounds."""
        return is_scalar_of(x, self.dtype) and bool(self.min <= x <= self.max)

    def sample(self, mask: None = None, probability: None = None) -> Any:
        """Draws a value: uniform where both bounds are finite.

        Floats without one bound are drawn from an exponential distribution that starts at the
        other, and floats without bounds from the normal distribution, as ``Box`` does.

        Returns:
            A plain ``int``, ``float`` or ``bool``, as in 0.2.5, that the dtype has.
        """
        if self.dtype.kind != "f":
            wide = np.int64 if self.dtype.kind in "bi" else np.uint64
            value = self.np_random.integers(self.min, self.max, endpoint=True, dtype=wide)
        elif np.isfinite(self.min) and np.isfinite(self.max):
            # Not uniform(min, max), which overflows if max - min does.
            share = self.np_random.random()
            value = np.clip(self.min * (1 - share) + self.max * share, self.min, self.max)
        elif np.isfinite(self.min):
            value = self.min + self.np_random.exponential()
        elif np.isfinite(self.max):
            value = self.max - self.np_random.exponential()
        else:
            value = self.np_random.normal()
        return self.dtype.type(value).item()

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Returns values as plain numbers and truth values."""
        return [self.dtype.type(value).item() for value in sample_n]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Inverse of :meth:`to_jsonable`."""
        return self.to_jsonable(sample_n)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Scalar)
            and self.name == other.name
            and self.min == other.min
            and self.max == other.max
            and self.dtype == other.dtype
        )

    def __repr__(self) -> str:
        return f"Scalar(name={self.name!r}, min={self.min}, max={self.max}, dtype={self.dtype})"


def _number(bound: float, to_integer: Callable[[float], int], dtype: np.dtype) -> Any:
    """Returns a bound as a number of the kind of a dtype."""
    if dtype.kind == "b":
        return bool(bound)
    return float(bound) if dtype.kind == "f" else to_integer(bound)
