"""The use of memory regions by a linked program, as its linker prints it.

Firmware does not fit or fit by the sum of its bytes, but by each region of its linker script:
``MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 32K }``. GNU ld and LLD print the use of each
region with ``--print-memory-usage``, also if a region overflows and they write no program.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from compiler_gym.tuning.size.trial_linking import LinkError

REPORT = "--print-memory-usage"
"""The option of linkers."""

# GNU ld prints a size in the largest unit that divides it, so nothing is rounded.
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_ROW = re.compile(r"^\s*(\S+):\s+(\d+) ([KMG]?B)\s+(\d+) ([KMG]?B)\b", re.M)

_OVERFLOWS = re.compile(r"will not fit in region|overflowed by \d+ bytes")
_HARMLESS = re.compile(
    r"linker command failed|ld returned \d+ exit status|\b(?:warning|note)\b:?", re.IGNORECASE
)
_LINKER = re.compile(r"(?:.*-)?ld(?:[.-].*)?")
_OPERATORS = frozenset("();<>|&")


@dataclass(frozen=True)
class MemoryRegion:
    """A region of memory.

    Attributes:
        name: Its name in the linker script.
        used: The bytes that the program needs of it.
        size: Its bytes.
    """

    name: str
    used: int
    size: int

    @property
    def overflow(self) -> int:
        """The bytes that do not fit."""
        return max(0, self.used - self.size)


@dataclass(frozen=True)
class MemoryUse:
    """The use of all regions by a program.

    Attributes:
        name: The region that is to be used less.
        regions: All regions, in the order of the linker script.
        is_linked: True if the linker has written the program.
    """

    name: str
    regions: tuple[MemoryRegion, ...]
    is_linked: bool

    @property
    def region(self) -> MemoryRegion:
        """The region that is to be used less."""
        return next(each for each in self.regions if each.name == self.name)

    @property
    def fits(self) -> bool:
        """True if the program fits into all regions. The linker has then written it."""
        return self.is_linked and not any(each.overflow for each in self.regions)

    @property
    def counted(self) -> int:
        """The bytes that are to become fewer."""
        return self.region.used

    @property
    def guarded(self) -> int:
        """The bytes that must not grow: those that do not fit into other regions."""
        return sum(each.overflow for each in self.regions if each.name != self.name)

    @property
    def rest(self) -> int:
        """The bytes that decide between equal sizes."""
        return sum(each.used for each in self.regions)

    def describe(self) -> str:
        """Says in a sentence whether the program fits into the region."""
        region = self.region
        used = f"{region.name}: {region.used} of {region.size} bytes used"
        if region.overflow:
            return f"{used}, {region.overflow} too many."
        if not self.fits:
            others = [each.name for each in self.regions if each.overflow]
            return f"{used}, but {' and '.join(others) or 'the program'} does not fit."
        return f"{used}, {region.size - region.used} left. The program fits, and links."


def region_rows(before: MemoryUse, after: MemoryUse) -> list[dict[str, Any]]:
    """Returns a row for each region, with what two programs use of it."""
    return [
        {"region": each.name, "size": each.size, "before": each.used, "after": now.used}
        for each, now in zip(before.regions, after.regions, strict=True)
    ]


def with_report(command: str) -> str:
    """Returns a command that links, so that it prints the use of regions.

    A command that is not a single program with arguments stays as it is.
    """
    if REPORT in command:
        return command
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = [*lexer]
    except ValueError:
        return command
    is_simple = words and not any(set(word) <= _OPERATORS for word in words if word)
    if not is_simple or any(mark in command for mark in ("\n", "`", "$(")):
        return command
    is_linker = _LINKER.fullmatch(PurePath(words[0]).name)
    return f"{command} {REPORT if is_linker else f'-Wl,{REPORT}'}"


def read_memory_use(name: str, printed: str, is_linked: bool) -> MemoryUse:
    """Reads the table that a linker prints.

    Args:
        name: The region that is to be used less.
        printed: The output of the linker.
        is_linked: True if it has written a program.

    Raises:
        LinkError: If there is no table or no such region. The text has advice.
    """
    rows = _ROW.findall(printed)
    regions = tuple(
        MemoryRegion(name, int(used) * _UNITS[unit], int(size) * _UNITS[unit_of_size])
        for name, used, unit, size, unit_of_size in rows
    )
    if not regions:
        raise LinkError(
            f"The command of --link prints no use of memory regions: add -Wl,{REPORT} to what "
            f"links, or {REPORT} to ld, and name the linker script with -T"
        )
    if name not in (each.name for each in regions):
        names = " and ".join(each.name for each in regions)
        raise LinkError(f"The linker script has no region {name}: it has {names}")
    return MemoryUse(name, regions, is_linked)


def is_about_space(messages: str) -> bool:
    """Returns true if a linker failed because regions are too small, and for nothing else.

    Args:
        messages: Its error messages.
    """
    lines = [line for line in messages.splitlines() if line.strip()]
    return any(map(_OVERFLOWS.search, lines)) and all(
        _OVERFLOWS.search(line) or _HARMLESS.search(line) for line in lines
    )
