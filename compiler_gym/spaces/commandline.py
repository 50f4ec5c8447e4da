"""Spaces whose actions are parts of a command line."""

import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from typing_extensions import Self

from compiler_gym.spaces.named_discrete import NamedDiscrete, not_in_space


class CommandlineFlag(NamedTuple):
    """A part of a command line.

    Attributes:
        name: Its name.
        flag: Its text on the command line; one word or several.
        description: A sentence about its effect, or an empty text.
        option: Additional options that the command line needs if the flag is used, e.g. to load a
            plugin: words as for a shell, or an empty text.
    """

    name: str
    flag: str
    description: str = ""
    option: str = ""


class Commandline(NamedDiscrete):
    """The integers 0 to n - 1, each of them a flag of a command line.

    ``space["x"]`` is the number of the flag with the name, or else the text, ``x``. A list of
    values is spelled as prefix, flags in order and suffix, joined by blanks. Compilers whose
    command lines look different override :meth:`to_string` and :meth:`from_string`.

    Attributes:
        flags: The text of each flag.
        descriptions: The effect of each flag.
        options: Additional options that each flag needs, often none.
        names: The name of each flag.
        expansions: For each macro of :meth:`with_macros`, the values that it stands for.
        prefix: The beginning of every command line, e.g. the program to call.
        suffix: The end of every command line, e.g. the file to work on.
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
        self.options = [item.option for item in items]
        self.expansions: dict[int, tuple[int, ...]] = {}
        self.prefix = prefix
        self.suffix = suffix
        for i, flag in reversed(list(enumerate(self.flags))):
            if flag and flag not in self.names:
                self._indices[flag] = i
        self._indices_by_words = {
            tuple(flag.split()): i for i, flag in reversed(list(enumerate(self.flags))) if flag
        }
        self._most_words = max(map(len, self._indices_by_words), default=0)

    def to_string(self, values: int | Iterable[int]) -> str:
        """Returns the command line of one value or several.

        Raises:
            IndexError: A value is not in the space.
        """
        values = self._checked_list(values)
        flags = [self.flags[value] for value in values]
        options = self.options_of(values)
        return " ".join(part for part in (self.prefix, *options, *flags, self.suffix) if part)

    def options_of(self, values: Iterable[int]) -> list[str]:
        """Returns the options that a list of values needs, each once, as words of a shell."""
        words = (word for value in values for word in shlex.split(self.options[value]))
        return [shlex.quote(word) for word in dict.fromkeys(words)]

    def from_string(self, text: str) -> list[int]:
        """Parses a command line into values: the inverse of :meth:`to_string`.

        The prefix and the suffix are optional. If several flags match, the longest wins.

        Raises:
            UnknownNameError: A part of the text is not a flag.
        """
        words = _without_ends(text.split(), self.prefix.split(), self.suffix.split())
        options = self.options_of(range(len(self.options)))
        words = [word for word in words if word not in options]
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
        raise not_in_space(words[0], self.name, self.flags)

    def with_macros(
        self,
        macros: Mapping[str, Iterable[int | str]],
        descriptions: Mapping[str, str] | None = None,
    ) -> Self:
        """Returns this space with additional macro actions, each of which applies several actions.

        An environment accepts the result as its action space: ``env.action_space =
        env.action_space.with_macros({"cleanup": ["instcombine", "simplifycfg"]})``. A macro is then
        a single action, whose command line is that of the actions it stands for.

        Args:
            macros: For each new name, the values or names that it stands for, in order. Earlier
                macros may be among them.
            descriptions: The effects of macros. By default, the list of their actions.

        Raises:
            ValueError: If a name is taken, or a macro stands for nothing.
            UnknownNameError: If a macro stands for a name that the space does not have.
            IndexError: If a macro stands for a value that the space does not have.
        """
        space = self
        for name, parts in macros.items():
            space = space._with_macro(name, parts, (descriptions or {}).get(name))
        return space

    def _with_macro(self, name: str, parts: Iterable[int | str], description: str | None) -> Self:
        if name in self._indices:
            raise ValueError(f"The space {self.name!r} has an action {name!r} already")
        if isinstance(parts, str):
            raise ValueError(f"The macro {name!r} needs a list of actions, not {parts!r}")
        values = [self[part] if isinstance(part, str) else part for part in parts]
        values = [
            each
            for value in self._checked_list(values)
            for each in self.expansions.get(value, (value,))
        ]
        if not values:
            raise ValueError(f"The macro {name!r} stands for no action")
        macro = CommandlineFlag(
            name,
            self._text_of(values),
            description or "Macro of " + ", ".join(self.names[value] for value in values),
            " ".join(self.options_of(values)),
        )
        space = self.with_items([*self.items, macro], self.name)
        space.expansions = {**self.expansions, len(self.names): tuple(values)}
        return space

    @property
    def items(self) -> list[CommandlineFlag]:
        """The name, text, description and option of each flag."""
        parts = zip(self.names, self.flags, self.descriptions, self.options, strict=True)
        return [CommandlineFlag(*each) for each in parts]

    def with_items(self, items: Iterable[CommandlineFlag], name: str | None) -> Self:
        """Returns a space of other flags with the same command line format.

        Args:
            items: The flags.
            name: The name of the space.

        Raises:
            ValueError: If there are no flags.
        """
        return type(self)(items, name=name, prefix=self.prefix, suffix=self.suffix)

    def _text_of(self, values: list[int]) -> str:
        """Returns the text of several flags together."""
        return " ".join(filter(None, (self.flags[value] for value in values)))

    def commandline(self, values: int | Iterable[int]) -> str:
        """Alias of :meth:`to_string`, from the 0.2.5 interface."""
        return self.to_string(values)

    def from_commandline(self, text: str) -> list[int]:
        """Alias of :meth:`from_string`, from the 0.2.5 interface."""
        return self.from_string(text)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Commandline)
            and self.flags == other.flags
            and self.descriptions == other.descriptions
            and self.options == other.options
            and self.expansions == other.expansions
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
