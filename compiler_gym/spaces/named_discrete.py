"""A finite number of choices with names."""

from collections.abc import Iterable

import numpy as np

from compiler_gym.errors.nearest_names import UnknownNameError, did_you_mean, quoted
from compiler_gym.spaces.discrete import Discrete


def not_in_space(name: str, space_name: str | None, known: Iterable[str]) -> UnknownNameError:
    """Returns an error for an unknown name, which suggests similar names."""
    return UnknownNameError(
        f"{quoted(name)} is not in the space {space_name!r}.{did_you_mean(name, known)}"
    )


class NamedDiscrete(Discrete):
    """The integers 0 to n - 1, each with a name.

    ``space["name"]`` is the number of a name.

    Attributes:
        names: The names, in the order of their numbers. If a name occurs more than once, it
            stands for the first of them.
        name: The name of the space.
    """

    def __init__(
        self,
        items: Iterable[str],
        name: str | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space of names. Raises ValueError if there are none."""
        self.names = [str(item) for item in items]
        if not self.names:
            raise ValueError(f"Space {name!r} needs at least one name")
        super().__init__(len(self.names), name=name, seed=seed)
        self._indices = {item: i for i, item in reversed(list(enumerate(self.names)))}

    def __getitem__(self, name: str) -> int:
        """Returns the number of a name.

        Raises:
            UnknownNameError: There is no such name.
        """
        try:
            return self._indices[name]
        except KeyError:
            raise not_in_space(name, self.name, self.names) from None

    def to_string(self, values: int | Iterable[int]) -> str:
        """Returns the names of one value or several, joined by blanks.

        Raises:
            IndexError: A value is not in the space.
        """
        return " ".join(self._strings_of(self.names, values))

    def from_string(self, text: str) -> list[int]:
        """Parses names separated by blanks into values: the inverse of :meth:`to_string`.

        Raises:
            UnknownNameError: A name is not in the space.
        """
        return [self[name] for name in text.split()]

    def _strings_of(self, strings: list[str], values: int | Iterable[int]) -> list[str]:
        """Looks up one string for each value."""
        return [strings[value] for value in self._checked_list(values)]

    def _checked_list(self, values: int | Iterable[int]) -> list[int]:
        """Returns values as a list; negative ones do not count from the end."""
        values = [values] if isinstance(values, (int, np.integer)) else list(values)
        for value in values:
            if not 0 <= value < len(self.names):
                raise IndexError(
                    f"{value} is not in the range [0, {len(self.names)}) of {self.name!r}"
                )
        return values

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NamedDiscrete) and self.names == other.names and super().__eq__(other)
        )

    def __repr__(self) -> str:
        return f"NamedDiscrete({self.names}, name={self.name!r})"
