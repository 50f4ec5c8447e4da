"""A reader of the format ELF: sections, symbols and relocations of both classes and byte orders.

pyelftools would be too slow. It makes a Python object of each symbol, and a search reads thousands
of these files.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

# Machines.
X86, ARM, AARCH64 = (3, 62), 40, 183  # i386 and x86-64 are X86.
# Types of sections.
SYMBOLS, STRINGS, WITH_ADDENDS, NO_BITS, WITHOUT_ADDENDS = 2, 3, 4, 8, 9
DYNAMIC_SYMBOLS, GROUP = 11, 17
WRITABLE, ALLOCATED, EXECUTABLE = 1, 2, 4  # Flags of sections.
COMDAT = 1  # The flag of groups.
FUNCTION = 2  # The type of symbols.
LOCAL, WEAK = 0, 2  # Their binding.
DEFAULT, PROTECTED = 0, 3  # Their visibility.

# The formats of section headers and symbols, by the class of the file.
SECTION = {1: "10I", 2: "IIQQQQIIQQ"}
SYMBOL = {1: "IIIBBH", 2: "IBBHQQ"}
# The formats of relocations: offset, symbol and kind, addend. Symbols begin at the bit after.
_RELOCATION = {1: "IIi", 2: "QQq"}
_SYMBOL_BIT = {1: 8, 2: 32}
# The positions of the offset, size and number of section headers in a file.
HEADERS = {1: ("I", 0x20, 0x2E), 2: ("Q", 0x28, 0x3A)}
_IN_FIRST_SECTION = 0xFFFF


class Section(NamedTuple):
    """A section header. The name is an offset in the table of names of sections."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Symbol(NamedTuple):
    """A symbol. The name is an offset in the file, for :func:`text_at`."""

    name: int
    kind: int
    section: int
    value: int
    size: int
    binding: int
    visibility: int


def byte_order(data: bytes) -> str:
    """Returns the byte order of a file, for :mod:`struct`."""
    return "<" if data[5] == 1 else ">"


def machine_of(data: bytes) -> int:
    """Returns the machine of a file."""
    (number,) = struct.unpack_from(byte_order(data) + "H", data, 18)
    return number


def read_sections(data: bytes) -> list[Section]:
    """Returns the section headers of a file."""
    order, width = byte_order(data), data[4]
    word, place, sizes = HEADERS[width]
    (start,) = struct.unpack_from(order + word, data, place)
    entry, count = struct.unpack_from(order + "HH", data, sizes)
    layout = struct.Struct(order + SECTION[width])
    if start == 0:
        return []
    if entry < layout.size:
        raise IndexError(f"section headers of {entry} bytes")
    if count == 0:  # The number does not fit into this field.
        count = layout.unpack_from(data, start)[5]
    headers = (layout.unpack_from(data, start + index * entry) for index in range(count))
    return [Section(*each) for each in headers]


Place = tuple[int, int]
"""The number of a section, and an offset in it."""


def read_symbols(data: bytes, sections: list[Section], kind: int = SYMBOLS) -> Iterator[Symbol]:
    """Yields the symbols of the tables of a kind."""
    width = data[4]
    layout = struct.Struct(byte_order(data) + SYMBOL[width])
    for table in (each for each in sections if each.kind == kind):
        names = sections[table.link].offset
        for fields in layout.iter_unpack(data[table.offset : table.offset + table.size]):
            if width == 1:
                name, value, size, info, other, section = fields
            else:
                name, info, other, section, value, size = fields
            yield Symbol(names + name, info & 15, section, value, size, info >> 4, other & 3)


def section_names(data: bytes, sections: list[Section]) -> list[str]:
    """Returns the names of sections."""
    _, _, sizes = HEADERS[data[4]]
    (index,) = struct.unpack_from(byte_order(data) + "H", data, sizes + 2 * 2)
    if index == _IN_FIRST_SECTION:  # The number does not fit into this field.
        index = sections[0].link
    return [text_at(data, sections[index].offset + each.name) for each in sections]


def text_at(data: bytes, start: int) -> str:
    """Returns the text that begins at an offset and ends with a zero.

    Raises:
        IndexError: If there is no zero.
    """
    end = data.find(b"\0", start)
    if end < 0:
        raise IndexError("a name has no end")
    return data[start:end].decode(errors="replace")


def relocation_entries(data: bytes, relocations: Section) -> Iterator[tuple[int, ...]]:
    """Yields the entries of a section of relocations: offset, symbol and kind, addend if any."""
    count = 3 if relocations.kind == WITH_ADDENDS else 2
    layout = struct.Struct(byte_order(data) + _RELOCATION[data[4]][:count])
    return layout.iter_unpack(data[relocations.offset : relocations.offset + relocations.size])


def symbol_of(data: bytes, info: int) -> int:
    """Returns the number of the symbol of a relocation, of all but those of MIPS."""
    return info >> _SYMBOL_BIT[data[4]]


def relocation_targets(
    data: bytes, relocations: Section, start: int, symbols: list[Symbol]
) -> Iterator[tuple[int, Place]]:
    """Yields the places to which relocations of a section refer, by their offset in it."""
    order = byte_order(data)
    for offset, info, *addends in relocation_entries(data, relocations):
        number = symbol_of(data, info)
        if number < len(symbols):  # MIPS has another format.
            added = addends or struct.unpack_from(order + "i", data, start + offset)
            symbol = symbols[number]
            yield offset, (symbol.section, symbol.value + added[0])
