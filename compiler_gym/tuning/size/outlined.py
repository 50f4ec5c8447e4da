"""Code that LLVM outlines from functions, and its parts of the functions that enter it.

With ``-Oz``, LLVM moves equal code of functions on ARM, AArch64 and RISC-V into functions of its
own. The size of a function then says little about what a change does to it, since the change may
only move code.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from compiler_gym.tuning.size.elf_reader import (
    AARCH64,
    ARM,
    EXECUTABLE,
    WITH_ADDENDS,
    WITHOUT_ADDENDS,
    Place,
    Section,
    Symbol,
    byte_order,
    machine_of,
    relocation_entries,
    symbol_of,
)

OUTLINED = "OUTLINED_FUNCTION_"
"""How the names of outlined code begin. Numbers follow, which mean other code in other files."""


def outlined_bytes(
    data: bytes,
    sections: list[Section],
    symbols: list[Symbol],
    functions: Mapping[Place, tuple[str, int]],
) -> dict[str, int]:
    """Returns the bytes of outlined code by the functions that enter it.

    Each call and jump of outlined code has an equal part of its bytes.

    Args:
        data: An object file.
        sections: Its sections.
        symbols: Its symbols.
        functions: The names and sizes of its functions.
    """
    sizes = {name: size for name, size in functions.values() if name.startswith(OUTLINED)}
    if not sizes:
        return {}
    entries: dict[str, Counter[str]] = defaultdict(Counter)
    starts = sorted((number, start & ~1) for number, start in functions)
    names = {(number, start & ~1): name for (number, start), (name, _) in functions.items()}
    for place, target in (*_relocated(data, sections, symbols), *_branches(data, sections)):
        entered = names.get(target, "")
        before = bisect_right(starts, place) - 1
        if entered in sizes and before >= 0:
            entries[entered][names[starts[before]]] += 1
    found: dict[str, float] = defaultdict(float)
    for name, size in sizes.items():
        _spread(name, size, entries, found)
    return {name: round(size) for name, size in found.items()}


def _spread(
    name: str, size: float, entries: Mapping[str, Counter[str]], found: dict[str, float]
) -> None:
    """Adds the bytes of outlined code to the functions that enter it."""
    callers = entries.get(name, Counter())
    for caller, count in callers.items():
        part = size * count / callers.total()
        if not caller.startswith(OUTLINED):
            found[caller] += part
        elif caller != name:
            _spread(caller, part, entries, found)


def _relocated(
    data: bytes, sections: list[Section], symbols: list[Symbol]
) -> Iterator[tuple[Place, Place]]:
    """Yields where relocations of code are, and the symbols that they name."""
    for table in sections:
        is_table = table.kind in (WITH_ADDENDS, WITHOUT_ADDENDS)
        if is_table and sections[table.info].flags & EXECUTABLE:
            for offset, info, *_ in relocation_entries(data, table):
                number = symbol_of(data, info)
                if number < len(symbols):
                    symbol = symbols[number]
                    yield (table.info, offset), (symbol.section, symbol.value & ~1)


def _branches(data: bytes, sections: list[Section]) -> Iterator[tuple[Place, Place]]:
    """Yields where branches within a section are, and where they go, if the machine is known.

    Other bytes may look like a branch. That they look like one to outlined code is unlikely.
    """
    machine = machine_of(data)
    if machine not in (ARM, AARCH64) or byte_order(data) != "<":
        return
    targets = _thumb_branches if machine == ARM else _aarch64_branches
    for number, section in enumerate(sections):
        if section.flags & EXECUTABLE:
            code = data[section.offset : section.offset + section.size]
            for start, target in targets(code):
                yield (number, start), (number, target)


def _thumb_branches(code: bytes) -> Iterator[tuple[int, int]]:
    import numpy as np  # Not for --help.

    halves = np.frombuffer(code[: len(code) // 2 * 2], dtype="<u2").astype(np.int64)
    first, second = halves[:-1], halves[1:]
    is_call = second & 0xD000 == 0xD000
    is_wide = (first & 0xF800 == 0xF000) & (is_call | (second & 0xD000 == 0x9000))
    sign = first >> 10 & 1
    high = (second >> 13 & 1 ^ sign ^ 1) << 23 | (second >> 11 & 1 ^ sign ^ 1) << 22
    offset = (high | (first & 0x3FF) << 12 | (second & 0x7FF) << 1) - (sign << 24)
    for index in np.flatnonzero(is_wide).tolist():
        yield 2 * index, 2 * index + 4 + int(offset[index])
    for index in np.flatnonzero(halves & 0xF800 == 0xE000).tolist():
        distance = int(halves[index] & 0x7FF)
        yield 2 * index, 2 * index + 4 + 2 * (distance - (distance >> 10 << 11))


def _aarch64_branches(code: bytes) -> Iterator[tuple[int, int]]:
    import numpy as np

    words = np.frombuffer(code[: len(code) // 4 * 4], dtype="<u4").astype(np.int64)
    for index in np.flatnonzero(words & 0x7C000000 == 0x14000000).tolist():
        distance = int(words[index] & 0x3FFFFFF)
        yield 4 * index, 4 * (index + distance - (distance >> 25 << 26))
