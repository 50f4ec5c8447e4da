"""Choices that are parts of a command line."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from compiler_gym.spaces.named_discrete import NamedDiscrete, unknown_name


class CommandlineFlag(NamedTuple):
    """A part of a command line.

    Attributes:
        name: Its name.
        flag: What to write on the command line; one word or several.
        description: What it does, or an empty text.
    """

    name: str
    flag: str
    description: str = ""


class Commandline(NamedDiscrete):
    """The integers 0 to n - 1, each of them a flag of a command line.

    ``space["x"]`` is the number of the flag with the name, or else the text, ``x``. A list of
    values is spelled as prefix, flags in order and suffix, joined by blanks. Compilers whose
    command lines look different override :meth:`to_string` and :meth:`from_string`.

    Attributes:
        flags: The text of each flag.
        descriptions: What each flag does.
        names: The name of each flag.
        prefix: What every command line begins with, e.g. the program to call.
        suffix: What every command line ends with, e.g. the file to work on.
    """

    def __init__(
        self,
        items: Iterable[CommandlineFlag],
        name: str | None = None,
        prefix: str = "",
        suffix: str = "",
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space of flags. Raises ValueError if there are none."""
        items = list(items)
        super().__init__([item.name for item in items], name=name, seed=seed)
        self.flags = [item.flag for item in items]
        self.descriptions = [item.description for item in items]
        self.prefix = prefix
        self.suffix = suffix
        for i, flag in reversed(list(enumerate(self.flags))):
            if flag not in self.names:
                self._indices[flag] = i
        self._indices_by_words = {
            tuple(flag.split()): i for i, flag in reversed(list(enumerate(self.flags)))
        }
        self._most_words = max(len(words) for words in self._indices_by_words)

    def to_string(self, values: int | Iterable[int]) -> str:
        """Returns the command line of one value or several.

        Raises:
            IndexError: A value is not in the space.
        """
        flags = self._strings_of(self.flags, values)
        return " ".join(part for part in (self.prefix, *flags, self.suffix) if part)

    def from_string(self, text: str) -> list[int]:
        """Returns the values that a command line stands for: undoes :meth:`to_string`.

        The prefix and the suffix may be missing. Where flags begin with the same words, the
        longest is taken.

        Raises:
            UnknownNameError: A part of the text is not a flag.
        """
        words = _without_ends(text.split(), self.prefix.split(), self.suffix.split())
        values = []
        while words:
            count = self._words_of_flag(words)
            values.append(self._indices_by_words[tuple(words[:count])])
            words = words[count:]
        return values

    def _words_of_flag(self, words: list[str]) -> int:
        """Returns how many words the longest flag at the beginning has."""
        for count in range(min(self._most_words, len(words)), 0, -1):
            if tuple(words[:count]) in self._indices_by_words:
                return count
        raise unknown_name(words[0], self.name, self.flags)

    def commandline(self, values: int | Iterable[int]) -> str:
        """Same as :meth:`to_string`; the name of the 0.2.5 interface."""
        return self.to_string(values)

    def from_commandline(self, text: str) -> list[int]:
        """Same as :meth:`from_string`; the name of the 0.2.5 interface."""
        return self.from_string(text)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Commandline)
            and self.flags == other.flags
            and self.descriptions == other.descriptions
            and (self.prefix, self.suffix) == (other.prefix, other.suffix)
            and super().__eq__(other)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.flags}, name={self.name!r})"


def _without_ends(words: list[str], prefix: list[str], suffix: list[str]) -> list[str]:
    if prefix and words[: len(prefix)] == prefix:
        words = words[len(prefix) :]
    if suffix and words[-len(suffix) :] == suffix:
        words = words[: -len(suffix)]
    return words
