"""A finite number of choices."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces


class Discrete(spaces.Discrete):
    """The integers 0 to ``n`` - 1.

    Attributes:
        n: The number of choices.
        start: The first number, 0.
        name: The name of the space.
    """

    def __init__(
        self, n: int, name: str | None = None, seed: int | np.random.Generator | None = None
    ):
        """Makes a space. Raises ValueError if ``n`` is not positive."""
        if n <= 0:
            raise ValueError(f"Space {name!r} needs a positive number of choices, but has {n}")
        super().__init__(n, seed=seed)
        # Plain integers, as in 0.2.5 and gym: loggers and JSON refuse those of numpy.
        self.n: int = int(n)  # type: ignore[assignment]
        self.start: int = 0  # type: ignore[assignment]
        self.name = name

    def sample(self, mask: Any = None, *args: Any, **kwargs: Any) -> int:  # type: ignore[override]
        """Draws a number as a plain ``int``; the arguments are those of gymnasium."""
        return int(super().sample(mask, *args, **kwargs))

    def from_jsonable(self, sample_n: Iterable[int]) -> list[int]:  # type: ignore[override]
        """Inverse of ``to_jsonable()``."""
        return [int(value) for value in sample_n]

    def contains(self, x: Any) -> bool:
        """Returns true if a value is an integer in the range. Truth values are not integers."""
        return not isinstance(x, (bool, np.bool_)) and super().contains(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Discrete) and self.name == other.name and super().__eq__(other)

    def __repr__(self) -> str:
        return f"Discrete(n={self.n}, name={self.name!r})"
