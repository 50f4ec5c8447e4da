"""Sequences of variable length."""

import string
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from compiler_gym.compat.classic_gym.spaces import as_gymnasium
from compiler_gym.spaces.scalar import Scalar, extremes

# Helpers for spaces of variable length.

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


# For each kind of sequence, the kinds of dtype that an array in it may have.
_SAME_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "f"}

_LETTERS = list(string.ascii_letters + string.digits)


def _element_type(dtype: Any) -> Any:
    """Returns numeric types as a numpy dtype; text, bytes, other types and spaces as they are."""
    if isinstance(dtype, Space) or dtype in (str, bytes):
        return dtype
    is_numeric = dtype in (bool, int, float) or not isinstance(dtype, type)
    return np.dtype(dtype) if is_numeric or issubclass(dtype, np.generic) else dtype


class Sequence(Space[Any]):
    """Sequences of a variable number of elements.

    What counts as an element depends on ``dtype``:

    * ``str``: a byte of the UTF-8 form of a ``str``, which is how services count; for lists of
      texts use ``Sequence(dtype=Sequence(dtype=str))``;
    * ``bytes``: a byte of a bytes-like object, or of an 8-bit integer array of one dimension;
    * a numeric type: an element of an array of one dimension, list or tuple, that is of the same
      kind (truth value, integer, float) and fits both the type and ``scalar_range``; bytes-like
      objects are sequences of 8-bit integers, too;
    * a space: an element of a list, tuple or array that the space contains;
    * any other type: an element of a list, tuple or array that is an instance of it.

    Attributes:
        name: The name of the space.
        size_range: The least and the greatest number of elements; None for no greatest.
        dtype: The type of elements. Numeric types are kept as a numpy dtype.
        opaque_data_format: The format in which values travel, e.g. ``"json://"``. Values of the
            space are then the decoded objects, and ``size_range`` limits the encoded form.
        scalar_range: Bounds of each element of a numeric type.
    """

    dtype: Any  # The type of elements, in any form.

    def __init__(
        self,
        name: str | None = None,
        size_range: SizeRange = (0, None),
        dtype: Any = bytes,
        opaque_data_format: str | None = None,
        scalar_range: Scalar | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space.

        Raises:
            TypeError: ``scalar_range`` is given for elements that are not numbers.
            ValueError: There is no length in ``size_range``.
        """
        element_type = _element_type(as_gymnasium(dtype))
        if scalar_range is not None and not isinstance(element_type, np.dtype):
            raise TypeError(
                f"Sequence {name!r} has elements of {element_type}; a scalar_range needs numbers"
            )
        self._children = [element_type] if isinstance(element_type, Space) else []
        self.size_range = checked_size_range(name, size_range)
        self.opaque_data_format = opaque_data_format
        self.scalar_range = scalar_range
        super().__init__(seed=seed)
        self.name = name
        self.dtype = element_type

    @property
    def is_np_flattenable(self) -> bool:
        """Always false: gymnasium cannot flatten a space of variable length."""
        return False

    def seed(self, seed: int | None = None) -> int:
        """Seeds the length and the elements."""
        return seed_with_children(self, super().seed, self._children, seed)

    def contains(self, x: Any) -> bool:
        """Returns true if a value is a sequence as the class describes, of a length in range."""
        if self.opaque_data_format == "json://":
            return isinstance(x, (dict, list))
        if self.opaque_data_format == "json://networkx/MultiDiGraph":
            # Do not import networkx for this test: it is slow, and loaded already if x is a graph.
            networkx = sys.modules.get("networkx")
            return networkx is not None and isinstance(x, networkx.MultiDiGraph)
        if isinstance(x, (bytes, bytearray, memoryview)):
            return self._contains_bytes(x)
        if isinstance(x, str):
            size = len(x) if x.isascii() else len(x.encode(errors="surrogatepass"))
            return self.dtype is str and is_within(size, self.size_range)
        if not isinstance(x, (list, tuple, np.ndarray)) or (
            isinstance(x, np.ndarray) and x.ndim == 0
        ):
            return False
        return (
            self.dtype is not str
            and is_within(len(x), self.size_range)
            and self._contains_elements(x)
        )

    def _contains_bytes(self, x: bytes | bytearray | memoryview) -> bool:
        if self.dtype is bytes:
            return is_within(memoryview(x).nbytes, self.size_range)
        if not isinstance(self.dtype, np.dtype) or self.dtype not in (np.int8, np.uint8):
            return False
        return self.contains(np.frombuffer(x, dtype=self.dtype))

    def _contains_elements(self, x: list[Any] | tuple[Any, ...] | np.ndarray) -> bool:
        if isinstance(self.dtype, Space):
            return all(self.dtype.contains(element) for element in x)
        if self.dtype is bytes:
            return isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype in (np.int8, np.uint8)
        if isinstance(self.dtype, np.dtype):
            return self._contains_numbers(x)
        return all(isinstance(element, self.dtype) for element in x)

    def _contains_numbers(self, x: list[Any] | tuple[Any, ...] | np.ndarray) -> bool:
        if not isinstance(x, np.ndarray) or x.dtype == object:
            bounds = self._element_space()
            return all(bounds.contains(element) for element in x)
        if x.ndim != 1 or x.dtype.kind not in _SAME_KINDS[self.dtype.kind]:
            return False
        least, greatest = self._bounds()
        # Comparing with the extremes of the type also rules out NaN.
        return x.size == 0 or bool(least <= x.min() and x.max() <= greatest)

    def _bounds(self) -> tuple[Any, Any]:
        least, greatest = extremes(self.dtype)
        if self.scalar_range is None:
            return least, greatest
        return max(least, self.scalar_range.min), min(greatest, self.scalar_range.max)

    def _element_space(self) -> Scalar:
        least, greatest = self._bounds()
        return Scalar(min=least, max=greatest, dtype=self.dtype, seed=self.np_random)

    def sample(self, mask: None = None, probability: None = None) -> Any:
        """Draws a sequence: its length uniformly within the range, then its elements.

        The length is at most 16 more than the least.

        Returns:
            A ``str``, ``bytes``, array of the dtype with one dimension, or a list of samples of
            the space that is the dtype.

        Raises:
            NotImplementedError: Elements of the type cannot be drawn.
        """
        if self.opaque_data_format is not None or not self._is_sampleable():
            kind = self.opaque_data_format or self.dtype
            raise NotImplementedError(
                f"Sequence {self.name!r} cannot be sampled: there is no way to make up values of "
                f"{kind}. Sequences of str, bytes, numbers and spaces can be sampled"
            )
        size = sample_size(self.np_random, self.size_range)
        if isinstance(self.dtype, Space):
            return [self.dtype.sample() for _ in range(size)]
        if self.dtype is str:
            return "".join(self.np_random.choice(_LETTERS, size))
        if self.dtype is bytes:
            return self.np_random.bytes(size)
        return np.array(self._draw_numbers(size), dtype=self.dtype)

    def _is_sampleable(self) -> bool:
        return isinstance(self.dtype, (np.dtype, Space)) or self.dtype in (str, bytes)

    def _draw_numbers(self, size: int) -> Iterable[Any]:
        element_space = self._element_space()
        return [element_space.sample() for _ in range(size)]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and self.name == other.name
            and self.size_range == other.size_range
            and self.dtype == other.dtype
            and self.opaque_data_format == other.opaque_data_format
            and self.scalar_range == other.scalar_range
        )

    def __repr__(self) -> str:
        dtype = self.dtype.__name__ if isinstance(self.dtype, type) else self.dtype
        details = f"name={self.name!r}, size_range={self.size_range}, dtype={dtype}"
        if self.opaque_data_format is not None:
            details += f", opaque_data_format={self.opaque_data_format!r}"
        if self.scalar_range is not None:
            details += f", scalar_range={self.scalar_range}"
        return f"Sequence({details})"
