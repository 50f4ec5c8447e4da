"""Unions of spaces."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from compiler_gym.compat.gym_spaces import as_gymnasium
from compiler_gym.spaces.sequence import seed_with_children


class SpaceUnion(Space[Any]):
    """Values of any one of some spaces.

    Attributes:
        spaces: The spaces.
        name: The name of the space.
    """

    def __init__(
        self,
        spaces: Iterable[Space[Any]],
        name: str | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space. Raises ValueError if there is no space to choose from."""
        self.spaces = tuple(map(as_gymnasium, spaces))
        if not self.spaces:
            raise ValueError(f"Space union {name!r} has no values: it has no spaces")
        super().__init__(seed=seed)
        self.name = name

    @property
    def is_np_flattenable(self) -> bool:
        """Always false: gymnasium can only flatten its own spaces."""
        return False

    def seed(self, seed: int | None = None) -> int:
        """Seeds the choice among the spaces, and the spaces."""
        return seed_with_children(self, super().seed, self.spaces, seed)

    def contains(self, x: Any) -> bool:
        """Returns true if any of the spaces contains a value."""
        return any(space.contains(x) for space in self.spaces)

    def sample(self, mask: None = None, probability: None = None) -> Any:
        """Draws a value of one of the spaces, chosen uniformly."""
        return self.spaces[self.np_random.integers(len(self.spaces))].sample()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SpaceUnion)
            and self.name == other.name
            and self.spaces == other.spaces
        )

    def __repr__(self) -> str:
        return f"SpaceUnion({list(self.spaces)!r}, name={self.name!r})"
