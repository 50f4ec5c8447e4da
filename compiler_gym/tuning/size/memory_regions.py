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
_HEADING = re.compile(r"^Memory region +Used Size +Region Size.*$", re.M)
_ROW = re.compile(r"^\s*(\S+):\s+(\d+) ([KMG]?B)\s+(\d+) ([KMG]?B)\s+[\d.]+%\s*$", re.M)

_OVERFLOWS = re.compile(r"will not fit in region|overflowed by \d+ bytes")
# What overflows may also overlap the next region, and fail assertions of the linker script.
_OTHER_FAILURE = re.compile(
    r"undefined|cannot|could not|unable|multiple definition|duplicate|unknown|no such|syntax",
    re.IGNORECASE,
)

_LINKER = re.compile(r"(?:.*-)?ld(?:[.-].*)?")
_COMPILER = re.compile(r"(?:.*-)?(?:clang|gcc|g\+\+|clang\+\+|cc|c\+\+)(?:-[\d.]+)?")
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
    def is_enough(self) -> bool:
        """True if the region fits, and less use of it would not make the program fit."""
        return self.fits or (not self.region.overflow and self.guarded > 0)

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
        """Says whether the program fits into the region, and into the others."""
        region = self.region
        used = f"{region.name}: {region.used} of {region.size} bytes used"
        if self.fits:
            return f"{used}, {region.size - region.used} left. The program fits, and links."
        rest = f"{region.overflow} too many" if region.overflow else "which fits"
        others = [each.name for each in self.regions if each.overflow and each is not region]
        also = f" What is for {' and '.join(others)} does not fit." if others else ""
        if others and not region.overflow:
            also += f" Try --objective region:{others[0]}."
        return f"{used}, {rest}.{also}"


def region_rows(before: MemoryUse, after: MemoryUse) -> list[dict[str, Any]]:
    """Returns a row for each region, with what two programs use of it."""
    return [
        {"region": each.name, "size": each.size, "before": each.used, "after": now.used}
        for each, now in zip(before.regions, after.regions, strict=True)
    ]


def with_report(command: str) -> str:
    """Returns a command that links, so that it prints the use of regions.

    A command stays as it is unless it is a linker or a compiler with arguments.
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
    if not is_simple or any(mark in command for mark in ("\n", "`", "$(", "#")):
        return command
    program = PurePath(words[0]).name
    if _LINKER.fullmatch(program):
        return f"{command} {REPORT}"
    return f"{command} -Wl,{REPORT}" if _COMPILER.fullmatch(program) else command


def read_memory_use(name: str, printed: str, is_linked: bool) -> MemoryUse:
    """Reads the table that a linker prints.

    Args:
        name: The region that is to be used less.
        printed: What the linker prints.
        is_linked: True if it has written a program.

    Raises:
        LinkError: If there is no table or no such region. The text has advice.
    """
    regions = _last_table(printed)
    if not regions:
        raise LinkError(
            f"The command of --link prints no use of memory regions: add -Wl,{REPORT} to what "
            f"links, or {REPORT} to ld, with a linker script that has MEMORY"
        )
    if name not in (each.name for each in regions):
        names = " and ".join(each.name for each in regions)
        raise LinkError(f"The linker script has no region {name}: it has {names}")
    return MemoryUse(name, regions, is_linked)


def _last_table(printed: str) -> tuple[MemoryRegion, ...]:
    """Returns the regions of the last program that is linked."""
    _, *tables = _HEADING.split(printed)
    rows = _ROW.findall(tables[-1]) if tables else []
    return tuple(
        MemoryRegion(name, int(used) * _UNITS[unit], int(size) * _UNITS[unit_of_size])
        for name, used, unit, size, unit_of_size in rows
    )


def is_about_space(messages: str) -> bool:
    """Returns true if a linker failed because regions are too small, and for nothing else.

    Args:
        messages: Its error messages.
    """
    lines = [line for line in messages.splitlines() if "warning:" not in line]
    return any(map(_OVERFLOWS.search, lines)) and not any(map(_OTHER_FAILURE.search, lines))
