"""The options of a GCC, with their values.

A value is given by its number, from 0; -1 stands for leaving the option out. The text of a value is
one word of a command line.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

LARGEST = 2**31 - 1
"""The largest number that GCC takes where it states no range."""


@dataclass(frozen=True)
class Option(ABC):
    """An option.

    ``len(option)`` is the number of its values, and ``option[i]`` the text of one.

    Attributes:
        name: Its spelling without the value, e.g. ``"-fgcse"``.
    """

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """The number of values."""

    @abstractmethod
    def _text(self, value: int) -> str:
        """The text of a value that there is."""

    def __getitem__(self, value: int) -> str:
        """Returns the text of a value.

        Raises:
            IndexError: If there is no such value.
        """
        if not 0 <= value < len(self):
            raise IndexError(f"{self.name} has the values 0 to {len(self) - 1}, not {value}")
        return self._text(value)

    def find(self, text: str) -> int | None:
        """Returns the number of the value of a text, or None if it is none of this option."""
        return next((i for i in range(len(self)) if self._text(i) == text), None)

    def to_json(self) -> dict[str, Any]:
        """Returns the option as JSON values, for :func:`option_from_json`."""
        return {"kind": type(self).__name__, **asdict(self)}

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _WordsOption(Option):
    """An option with a list of values.

    Attributes:
        values: Their texts, without the name.
    """

    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.values)

    def _text(self, value: int) -> str:
        return f"{self.name}{self.values[value]}"


@dataclass(frozen=True)
class _RangeOption(Option):
    """An option whose values are numbers.

    Attributes:
        min: The smallest number.
        max: The largest number.
        default: The number that GCC says it uses when the option is left out; None if it does not.
    """

    min: int
    max: int
    default: int | None = None

    def __len__(self) -> int:
        return self.max - self.min + 1

    def _text(self, value: int) -> str:
        return f"{self.name}={self.min + value}"

    def find(self, text: str) -> int | None:
        """Returns the number of the value of a text, or None. Computed rather than searched."""
        name, _, number = text.rpartition("=")
        if name != self.name or not number.removeprefix("-").isdecimal():
            return None
        return int(number) - self.min if self.min <= int(number) <= self.max else None


class GccOOption(_WordsOption):
    """The level of optimisation: ``-O0``, ``-O1``, ``-Os``, ..."""


@dataclass(frozen=True)
class GccFlagOption(Option):
    """A switch: ``-fgcse`` and ``-fno-gcse``.

    Attributes:
        no_fno: True if it can only be switched on.
    """

    no_fno: bool = False

    def __len__(self) -> int:
        return 1 if self.no_fno else 2

    def _text(self, value: int) -> str:
        return self.name if value == 0 else f"-fno-{self.name.removeprefix('-f')}"


class GccFlagEnumOption(_WordsOption):
    """One of some words: ``-fira-algorithm=CB``. The values begin with the ``=``."""


class GccFlagIntOption(_RangeOption):
    """A number: ``-flifetime-dse=2``."""


class GccFlagAlignOption(_WordsOption):
    """An alignment in bytes, a power of two: ``-falign-loops=16``."""


class GccParamEnumOption(_WordsOption):
    """A parameter that is one of some words: ``--param=parloops-schedule=static``."""


class GccParamIntOption(_RangeOption):
    """A parameter that is a number: ``--param=max-unroll-times=8``."""


_KINDS: dict[str, type[Option]] = {
    kind.__name__: kind
    for kind in (
        GccOOption,
        GccFlagOption,
        GccFlagEnumOption,
        GccFlagIntOption,
        GccFlagAlignOption,
        GccParamEnumOption,
        GccParamIntOption,
    )
}

ALIGNMENTS = tuple(f"={2**i}" for i in range(9))


def words(values: Sequence[str]) -> tuple[str, ...]:
    """Returns the values of an option, which follow ``=``."""
    return tuple(f"={value}" for value in values)


def option_from_json(fields: dict[str, Any]) -> Option:
    """Makes an option from the result of :meth:`Option.to_json`.

    Raises:
        LookupError: If it is of no known kind.
        TypeError: If its fields are others.
    """
    fields = dict(fields)
    kind = _KINDS[fields.pop("kind")]
    if "values" in fields:
        fields["values"] = tuple(fields["values"])
    return kind(**fields)


_MAX_LISTED = 10
"""An option with fewer values has an action for each. Others are changed by steps."""

# How far actions go, and how many values an option has at least for that.
_STEPS = ((1, 10), (10, 50), (100, 500), (1000, 5000))


@dataclass(frozen=True)
class Action:
    """A change of one option.

    Attributes:
        name: Its name, a word without blanks.
        option: The number of the option.
        value: The value that it gets, or None.
        step: By how much the number of its value changes otherwise. It stays between -1, which
            leaves the option out, and the last.
    """

    name: str
    option: int
    value: int | None = None
    step: int = 0

    def apply(self, choices: Sequence[int], options: Sequence[Option]) -> int:
        """Returns the value of the option after the action, given those of all options."""
        if self.value is not None:
            return self.value
        return max(-1, min(choices[self.option] + self.step, len(options[self.option]) - 1))


def actions_of(options: Sequence[Option]) -> Iterator[Action]:
    """Yields the actions, in the order of the options."""
    for number, option in enumerate(options):
        if len(option) < _MAX_LISTED:
            for value in range(len(option)):
                yield Action(option[value], number, value=value)
            continue
        for step, needed in _STEPS:
            if len(option) >= needed:
                yield Action(f"{option.name}[+{step}]", number, step=step)
                yield Action(f"{option.name}[-{step}]", number, step=-step)
