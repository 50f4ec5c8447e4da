"""Dictionaries of spaces."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from compiler_gym.compat.classic_gym.spaces import as_gymnasium


class Dict(spaces.Dict):
    """Dictionaries with one value of each of some spaces.

    Attributes:
        spaces: The spaces by key, in the order given. Those of classic gym become gymnasium's.
        name: The name of the space.
    """

    def __init__(
        self,
        spaces: Mapping[str, spaces.Space[Any]],
        name: str | None = None,
        seed: dict[str, Any] | int | np.random.Generator | None = None,
    ):
        # Pairs keep their order; the keys of a mapping would be sorted.
        super().__init__([(key, as_gymnasium(space)) for key, space in spaces.items()], seed=seed)
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dict) and self.name == other.name and super().__eq__(other)

    def __repr__(self) -> str:
        items = ", ".join(f"{key!r}: {space!r}" for key, space in self.spaces.items())
        return f"Dict({{{items}}}, name={self.name!r})"
