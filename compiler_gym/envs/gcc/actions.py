"""The documented actions: each changes the value of one option."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler_gym.envs.gcc.options import Option

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
