"""A space of actions."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from compiler_gym.compat.classic_gym.spaces import as_gymnasium


class ActionSpace(Space[Any]):
    """A space whose values can also be written as text.

    Wraps another space and has its attributes and methods. Lists of actions become text in the
    format of that space or, if it has none, separated by commas.

    Attributes:
        wrapped: The other space.
    """

    def __init__(self, space: Space[Any]):
        self.wrapped = as_gymnasium(space)

    def __getattr__(self, name: str) -> Any:
        # Only called for names that are not found here. Copying and unpickling ask for names
        # before "wrapped" is there.
        if name == "wrapped":
            raise AttributeError(name)
        return _plain(getattr(self.wrapped, name))

    def __getitem__(self, key: Any) -> Any:
        wrapped: Any = self.wrapped  # Some spaces have names for actions.
        return wrapped[key]

    @property
    def name(self) -> str | None:
        """The name of the space; None for spaces of gymnasium."""
        return getattr(self.wrapped, "name", None)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of values."""
        return self.wrapped.shape

    @property
    def is_np_flattenable(self) -> bool:
        """True if gymnasium can flatten the space into a box."""
        return self.wrapped.is_np_flattenable

    @property
    def np_random(self) -> np.random.Generator:
        """The random number generator that samples are drawn with."""
        return self.wrapped.np_random

    def seed(self, seed: Any = None) -> Any:
        """Seeds the generator of samples."""
        return self.wrapped.seed(seed)

    def sample(self, mask: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Draws an action. Integers are plain ``int``, as in 0.2.5."""
        return _plain(self.wrapped.sample(mask, *args, **kwargs))

    def contains(self, x: Any) -> bool:
        """Returns true if a value is an action."""
        return self.wrapped.contains(x)

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Converts actions to values that JSON can represent."""
        return self.wrapped.to_jsonable(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Inverse of :meth:`to_jsonable`."""
        return self.wrapped.from_jsonable(sample_n)

    def to_string(self, actions: Iterable[Any]) -> str:
        """Converts a list of actions to text."""
        if hasattr(self.wrapped, "to_string"):
            return self.wrapped.to_string(actions)
        return ",".join(str(action) for action in actions)

    def from_string(self, text: str) -> list[Any]:
        """Parses a list of actions: the inverse of :meth:`to_string`.

        Raises:
            ValueError: A part of the text is not an action.
            NotImplementedError: Actions are not numbers, and the space has no text format.
        """
        if hasattr(self.wrapped, "from_string"):
            return self.wrapped.from_string(text)
        if self.shape != ():
            raise NotImplementedError(
                f"Actions of {self.wrapped} cannot be read from text; give its class the methods "
                "to_string() and from_string()"
            )
        return [self._number(part) for part in text.split(",") if part.strip()]

    def _number(self, text: str) -> Any:
        kind = np.dtype(self.dtype).kind
        number: float | None
        if kind == "b":
            number = {"True": True, "False": False}.get(text.strip())
        else:
            try:
                number = float(text) if kind == "f" else int(text)
            except ValueError:
                number = None
        if number is None or not self.contains(number):
            raise ValueError(f"{text.strip()!r} is not an action of {self.wrapped}")
        return number

    def __eq__(self, other: object) -> bool:
        return self.wrapped == (other.wrapped if isinstance(other, ActionSpace) else other)

    def __repr__(self) -> str:
        return f"ActionSpace({self.wrapped!r})"


def _plain(value: Any) -> Any:
    """Converts an integer of numpy to ``int``. Returns other values unchanged."""
    return int(value) if isinstance(value, np.integer) else value
