"""The limit for the growth of a build, and other options of commands that compare builds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from compiler_gym.tuning.size.elf_sizes import Region

ROWS = 20
"""Maximum number of rows of a table, by default."""

_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*%|(\d+)\s*B?")


class Judged(str, Enum):
    """The bytes that a limit is for."""

    LOADED = "loaded"
    RAM = "ram"
    TEXT = "text"
    RODATA = "rodata"
    DATA = "data"
    BSS = "bss"

    @property
    def regions(self) -> Sequence["Region"]:
        """The kinds of memory that count."""
        from compiler_gym.tuning.size.elf_sizes import Region
        from compiler_gym.tuning.size.size_diff import LOADED, RAM

        if self is Judged.LOADED:
            return LOADED
        return RAM if self is Judged.RAM else (Region(self.value),)


class Rows(str, Enum):
    """The subjects of the table."""

    SYMBOL = "symbol"
    SECTION = "section"
    FILE = "file"


FailAboveOption = Annotated[
    str | None,
    typer.Option(
        metavar="LIMIT",
        help="End with exit code 1 if the total of --judge grows by more: 1%, 300 or 300B.",
    ),
]
JudgeOption = Annotated[
    Judged,
    typer.Option(
        help="The bytes that --fail-above judges: loaded is text, rodata and data, the same as "
        "flash; ram is data and bss."
    ),
]
AssemblyOption = Annotated[
    int,
    typer.Option(
        min=0, help="Number of functions to show the changed assembly of: those that grew most."
    ),
]


@dataclass(frozen=True)
class Limit:
    """The growth that is allowed.

    Attributes:
        text: The limit as the user wrote it.
        percent: The limit in percent of the old size; None if it is in bytes.
        bytes: The limit in bytes; None if it is in percent.
    """

    text: str
    percent: float | None
    bytes: int | None

    def is_exceeded(self, old: int, new: int) -> bool:
        """Returns whether a growth is above the limit. Any growth from zero is above a percentage.

        Args:
            old: The old size.
            new: The new size.
        """
        growth = new - old
        if self.bytes is not None:
            return growth > self.bytes
        assert self.percent is not None
        return growth > 0 and growth * 100 > self.percent * old


def parse_limit(text: str) -> Limit:
    """Parses the value of ``--fail-above``.

    Raises:
        ValueError: If it is not a limit.
    """
    found = _LIMIT.fullmatch(text.strip())
    if not found:
        raise ValueError(f"--fail-above: expected a limit such as 1%, 300 or 300B, got {text!r}")
    percent, count = found.groups()
    return Limit(text.strip(), float(percent) if percent else None, int(count) if count else None)
