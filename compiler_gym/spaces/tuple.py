"""Tuples of spaces."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces

from compiler_gym.compat.classic_gym.spaces import as_gymnasium


class Tuple(spaces.Tuple):  # type: ignore[type-arg]  # Not generic before gymnasium 1.4.
    """Tuples with one value of each of some spaces, in order.

    Attributes:
        spaces: The spaces. Those of classic gym become gymnasium's.
        name: The name of the space.
    """

    def __init__(
        self,
        spaces: Iterable[spaces.Space[Any]],
        name: str | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        super().__init__([as_gymnasium(space) for space in spaces], seed=seed)
        self.name = name

    def contains(self, x: Any) -> bool:
        """Returns true if a value is a tuple, list or array with one value of each space."""
        is_number = isinstance(x, np.ndarray) and x.ndim == 0
        return not is_number and super().contains(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self.name == other.name and super().__eq__(other)

    def __repr__(self) -> str:
        return f"Tuple({list(self.spaces)!r}, name={self.name!r})"
