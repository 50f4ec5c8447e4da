"""Spaces made of others: sequences of their values, and unions."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from compiler_gym.compat.classic_gym.spaces import as_gymnasium
from compiler_gym.spaces.sequence import (
    SizeRange,
    checked_size_range,
    is_within,
    sample_size,
    seed_with_children,
)


class SpaceSequence(Space[Any]):
    """Lists of a variable number of values of a space.

    Attributes:
        name: The name of the space.
        space: The space of each element.
        size_range: The least and the greatest number of elements; None for no greatest.
    """

    def __init__(
        self,
        name: str | None,
        space: Space[Any],
        size_range: SizeRange = (0, None),
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space. Raises ValueError if there is no length in ``size_range``."""
        self.space = as_gymnasium(space)
        self.size_range = checked_size_range(name, size_range)
        super().__init__(seed=seed)
        self.name = name

    @property
    def is_np_flattenable(self) -> bool:
        """Always false: gymnasium cannot flatten a space of variable length."""
        return False

    def seed(self, seed: int | None = None) -> int:
        """Seeds the length and the elements."""
        return seed_with_children(self, super().seed, [self.space], seed)

    def contains(self, x: Any) -> bool:
        """Returns true if a value is a list or tuple of values of the space, of valid length."""
        return (
            isinstance(x, (list, tuple))
            and is_within(len(x), self.size_range)
            and all(self.space.contains(element) for element in x)
        )

    def sample(self, mask: None = None, probability: None = None) -> list[Any]:
        """Draws a list; its length is at most 16 more than the least."""
        size = sample_size(self.np_random, self.size_range)
        return [self.space.sample() for _ in range(size)]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SpaceSequence)
            and self.name == other.name
            and self.space == other.space
            and self.size_range == other.size_range
        )

    def __repr__(self) -> str:
        return (
            f"SpaceSequence(name={self.name!r}, space={self.space!r}, size_range={self.size_range})"
        )


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
