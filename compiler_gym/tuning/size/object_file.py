"""A reader of the sizes in an ELF object file: sections and functions.

pyelftools would be too slow. It makes a Python object of each symbol, and a search reads thousands
of these files.
"""

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_NO_BITS, _SYMBOLS = 8, 2  # Types of sections.
_ALLOCATED, _EXECUTABLE = 2, 4  # Flags of sections.
_FUNCTION = 2  # The type of symbols.

# The formats of section headers and symbols, by the class of the file.
_SECTION = {1: "10I", 2: "IIQQQQIIQQ"}
_SYMBOL = {1: "IIIBBH", 2: "IBBHQQ"}
# The positions of the offset, size and number of section headers in a file.
_HEADERS = {1: ("I", 0x20, 0x2E), 2: ("Q", 0x28, 0x3A)}


@dataclass(frozen=True)
class ObjectFile:
    """The sizes and digests of an object file.

    Attributes:
        text: Bytes of code, in all executable sections.
        all: Bytes that are loaded: code, constants, initialised data, tables for exceptions.
        functions: The bytes of each function by its symbol.
        code: A digest of the executable sections.
        digest: A digest of the whole file.
        instructions: The machine instructions of each function by its symbol; None if not
            counted.
    """

    text: int
    all: int
    functions: dict[str, int]
    code: str
    digest: str
    instructions: Mapping[str, int] | None = None

    @property
    def instruction_count(self) -> int | None:
        """The machine instructions of all functions; None if not counted."""
        return None if self.instructions is None else sum(self.instructions.values())


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def read_object(path: Path) -> ObjectFile:
    """Reads an object file.

    Raises:
        ValueError: If it is not an ELF file.
        OSError: If it cannot be read.
    """
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or len(data) < 64:
        raise ValueError(f"{path} is not an object file of the format ELF")
    try:
        return _read(data)
    except (struct.error, IndexError) as error:
        raise ValueError(f"{path} is a broken object file: {error}") from error


def _read(data: bytes) -> ObjectFile:
    sections = _sections(data)
    loaded = [each for each in sections if each.flags & _ALLOCATED and each.kind != _NO_BITS]
    code = [each for each in loaded if each.flags & _EXECUTABLE]
    contents = (data[each.offset : each.offset + each.size] for each in code)
    return ObjectFile(
        text=sum(each.size for each in code),
        all=sum(each.size for each in loaded),
        functions=dict(_functions(data, sections)),
        code=hashlib.sha256(b"\0".join(contents)).hexdigest(),
        digest=hashlib.sha256(data).hexdigest(),
    )


def _order(data: bytes) -> str:
    return "<" if data[5] == 1 else ">"


def _sections(data: bytes) -> list[_Section]:
    order, width = _order(data), data[4]
    word, place, sizes = _HEADERS[width]
    (start,) = struct.unpack_from(order + word, data, place)
    entry, count = struct.unpack_from(order + "HH", data, sizes)
    layout = struct.Struct(order + _SECTION[width])
    if count == 0:  # The number does not fit into this field.
        count = layout.unpack_from(data, start)[5]
    headers = (layout.unpack_from(data, start + index * entry) for index in range(count))
    return [_Section(each[1], each[2], each[4], each[5], each[6]) for each in headers]


def _functions(data: bytes, sections: list[_Section]) -> Iterator[tuple[str, int]]:
    """Yields name and size of each function. If it has several names, the first."""
    width = data[4]
    layout = struct.Struct(_order(data) + _SYMBOL[width])
    met = set()
    for table in (each for each in sections if each.kind == _SYMBOLS):
        names = sections[table.link].offset
        for offset in range(table.offset, table.offset + table.size, layout.size):
            fields = layout.unpack_from(data, offset)
            if width == 1:
                name, value, size, info, _, section = fields
            else:
                name, info, _, section, value, size = fields
            if info & 15 == _FUNCTION and size and (section, value) not in met:
                met.add((section, value))
                end = data.index(b"\0", names + name)
                yield data[names + name : end].decode(errors="replace"), size
