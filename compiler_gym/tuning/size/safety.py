"""The decisions that a search may make: their kinds, their promise, and what users exclude.

A kind of decision has *preconditions*, which are checked for each function that it is applied to,
and a *promise*, which is checked for each result:

- The plugin of passes checks the preconditions, in ``FunctionTraits``. It sees each function, and
  every command goes through it: those of searches, of remembered decisions, of lock files and of
  scripts. What it does not permit, it ignores.
- :class:`Limits` has the decisions that a user excludes, and knows those that the target does not
  have. ``Change.within`` removes them from every change before clang is run.
- :mod:`~compiler_gym.tuning.size.stack` has the promise. What breaks it is taken back as a wrong
  result is.

Options of LLVM apply to all functions. The portfolios have only options that change no frame layout
and no way of calling: see ``docs/guides/code-size-safety.md``.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from compiler_gym.util.filesystem import read_text

FRAME_POINTER = "frame-pointer=all"
"""The adjustment that finds the frame of a function by a register."""

MAX_STACK_GROWTH = 32
"""The bytes by which each frame may grow by default."""

# What stands in the options, passes and attributes of x86 processors alone.
_OF_X86 = ("x86", "tune-cpu=")
# Names of functions that the passes of the plugin can have in their text.
_NAME = re.compile(r"[\w.$:~/+-]+")


class Kind(str, Enum):
    """A class of decisions that users can exclude."""

    FRAME_POINTERS = "frame-pointers"
    FUNCTIONS = "functions"
    CALLS = "calls"
    OPTIONS = "options"


@dataclass(frozen=True)
class Limits:
    """Exclusions of a user from a search.

    Attributes:
        excluded: Functions and sources that are left as they are: symbols, C++ names without
            parameters, paths.
        without: Kinds of decisions that are not made.
        max_stack_growth: The bytes by which each frame may grow.
        is_x86: Whether the target is an x86 processor. What only these have is left out otherwise.
    """

    excluded: tuple[str, ...] = ()
    without: tuple[Kind, ...] = ()
    max_stack_growth: int = MAX_STACK_GROWTH
    is_x86: bool = True

    def knows(self, text: str) -> bool:
        """Returns whether the target has what an option, a pass or an adjustment names."""
        return self.is_x86 or not any(each in text for each in _OF_X86)

    def permits(self, adjustment: str) -> bool:
        """Returns whether functions may be adjusted in some way."""
        is_frame_pointer = adjustment == FRAME_POINTER
        return (
            Kind.FUNCTIONS not in self.without
            and not (is_frame_pointer and Kind.FRAME_POINTERS in self.without)
            and self.knows(adjustment)
        )

    def first_passes(self) -> list[str]:
        """Returns the pass of the plugin that excludes functions, which runs before all others."""
        return [f"keep-functions<{';'.join(self.excluded)}>"] if self.excluded else []

    def excludes(self, source: Path) -> bool:
        """Returns whether a source is left as it is."""
        path = os.path.abspath(source)
        return any(path == each or path.endswith(f"/{each}") for each in self.excluded)

    def covers(self, other: "Limits") -> bool:
        """Returns whether decisions within these limits are within others, too."""
        return (
            {*other.excluded} <= {*self.excluded}
            and {*other.without} <= {*self.without}
            and self.max_stack_growth <= other.max_stack_growth
        )

    def facts(self) -> list[str]:
        """Returns the limits as words, on which cached results depend."""
        return [*self.excluded, *self.without, str(self.max_stack_growth)]


NO_LIMITS = Limits()


def limits_of(
    excluded: Iterable[str],
    lists: Iterable[Path] = (),
    without: Sequence[Kind] = (),
    max_stack_growth: int = MAX_STACK_GROWTH,
) -> Limits:
    """Returns limits.

    Args:
        excluded: Functions and sources.
        lists: Files with more of them, one in a line. Lines that begin with ``#`` are comments.
        without: Kinds of decisions that are not made.
        max_stack_growth: The bytes by which each frame may grow.

    Raises:
        ValueError: If a name cannot be that of a function or a source, or a list is no text.
        OSError: If a list cannot be read.
    """
    names = [*excluded]
    for path in lists:
        lines = map(str.strip, read_text(path).splitlines())
        names += [line for line in lines if line and not line.startswith("#")]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"expected a function or a source to exclude, got {name!r}; "
                "try a symbol, or a name of C++ without parameters"
            )
    return Limits(tuple(dict.fromkeys(names)), tuple(sorted({*without})), max_stack_growth)
