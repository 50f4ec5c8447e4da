"""Sizes of the sections and symbols of ELF files and archives, for comparisons of two builds."""

import hashlib
import re
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from compiler_gym.tuning.size.elf_reader import (
    ALLOCATED,
    EXECUTABLE,
    FUNCTION,
    HEADERS,
    LOCAL,
    NO_BITS,
    WEAK,
    WITH_ADDENDS,
    WITHOUT_ADDENDS,
    WRITABLE,
    Section,
    Symbol,
    byte_order,
    read_sections,
    read_symbols,
    relocation_entries,
    section_names,
    text_at,
)
from compiler_gym.tuning.size.image import FunctionPlace, Instruction, read_functions, section_kind

ELF, ARCHIVE, THIN_ARCHIVE = b"\x7fELF", b"!<arch>\n", b"!<thin>\n"
BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""The first bytes of files."""

_OTHERS = {
    b"MZ": "a PE file of Windows",
    b"\xcf\xfa\xed\xfe": "a Mach-O file",
    b"\xca\xfe\xba\xbe": "a Mach-O file",
    b"\0asm": "a WebAssembly file",
}

_OBJECT, _PROGRAM, _LIBRARY = 1, 2, 3  # Types of ELF files.
_KINDS = {_OBJECT: "object file", _PROGRAM: "program", _LIBRARY: "program"}
_X86_64, _ARM = 62, 40
_MACHINES = {3: "x86", 8: "MIPS", 40: "Arm", 62: "x86-64", 83: "AVR", 94: "Xtensa", 183: "AArch64"}
_MACHINES |= {20: "PowerPC", 21: "PowerPC64", 22: "s390x", 105: "MSP430", 243: "RISC-V"}
_NO_TYPE, _DATA, _FILE, _THREAD, _INDIRECT = 0, 1, 4, 6, 10  # Types of symbols.
_SIZED = (FUNCTION, _INDIRECT, _DATA, _THREAD, _NO_TYPE)  # The best one for a name comes first.
_COMMON_SECTION = 0xFFF2
_COMMON = "COMMON"

_MIN_HEADER = 52  # Bytes of the header of a 32-bit ELF file.
_MEMBER_HEADER = 60
_MEMBER_END = b"`\n"
_INDICES = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")


class Region(Enum):
    """A kind of memory that a section is in."""

    TEXT = "text"
    RODATA = "rodata"
    DATA = "data"
    BSS = "bss"


class UnreadableError(ValueError):
    """A file whose sizes cannot be told. The text has the reason."""


class Part(NamedTuple):
    """A symbol with the bytes that it alone has.

    Attributes:
        symbol: Its name; empty for the bytes of a section that no symbol has.
        source: The source of a local symbol, as far as the file tells; else empty.
        section: The name of its section.
        region: The memory that it is in.
        size: Its bytes. Bytes that several symbols share belong to one of them.
        value: The value of its symbol, without the bit that says Thumb.
        number: The number of its section.
        is_function: Whether it is code.
        is_local: Whether other files do not see it.
        aliases: Further symbols at the same address.
    """

    symbol: str
    source: str
    section: str
    region: Region
    size: int
    value: int = 0
    number: int = 0
    is_function: bool = False
    is_local: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of its section: the name without a part for a function."""
        if self.region is not Region.TEXT:
            return section_kind(self.section)
        return ".text" if self.section.startswith(".text.") else self.section


@dataclass(frozen=True, eq=False)
class Unit:
    """An object file, a program or a shared library, perhaps as a member of an archive.

    Attributes:
        path: The file.
        name: The name for people, which is the same for both builds.
        offset: Its first byte in the file, for a member of an archive.
        length: Its bytes there.
        kind: ``object file`` or ``program``.
        machine: The architecture for people, such as ``64-bit x86-64``.
        digest: A digest of all its bytes.
        sections: Bytes by the kind of section and the memory.
        parts: The symbols, and what is left of the sections. They add up to the sections.
        has_symbols: Whether there is a symbol that has bytes.
    """

    path: Path
    name: str
    offset: int
    length: int
    kind: str
    machine: str
    digest: str
    sections: Mapping[tuple[str, Region], int]
    parts: Sequence[Part]
    has_symbols: bool

    @property
    def regions(self) -> Counter[Region]:
        """Bytes by the memory that they are in."""
        sizes: Counter[Region] = Counter()
        for (_, region), size in self.sections.items():
            sizes[region] += size
        return sizes

    @property
    def is_linked(self) -> bool:
        """True for a program or a shared library."""
        return self.kind == _KINDS[_PROGRAM]

    def content(self) -> bytes:
        """Reads all its bytes."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.length)

    def digests(self, parts: Sequence[Part]) -> dict[Part, str]:
        """Returns digests of the bytes of symbols, without what relocations will replace."""
        data = self.content()
        sections = read_sections(data)
        masked = _without_relocations(data, sections, {each.number for each in parts})
        return {
            each: hashlib.sha256(
                masked[each.number][each.value - sections[each.number].address :][: each.size]
            ).hexdigest()
            for each in parts
            if each.number in masked
        }

    def assembly(self, parts: Sequence[Part]) -> dict[Part, list[Instruction]]:
        """Disassembles functions.

        Raises:
            EnvironmentNotSupported: If ``llvm-objdump`` is not installed.
            ValueError: If that fails.
        """
        places = {
            each: FunctionPlace(each.section, each.value, each.size, each.symbol)
            for each in parts
            if each.is_function and each.size
        }
        arch = "x86_64" if self.machine.endswith(_MACHINES[_X86_64]) else ""
        if self.length == self.path.stat().st_size:
            found = read_functions(self.path, [*places.values()], arch)
        else:
            with tempfile.NamedTemporaryFile(prefix="compiler_gym-") as file:
                file.write(self.content())
                file.flush()
                found = read_functions(Path(file.name), [*places.values()], arch)
        return {each: found[place] for each, place in places.items() if place in found}


def read_units(path: Path, name: str) -> list[Unit]:
    """Reads an ELF file, or the object files in an archive.

    Args:
        path: The file.
        name: The name for people.

    Raises:
        UnreadableError: If its sizes cannot be told.
        OSError: If it cannot be read.
    """
    data = path.read_bytes()
    if data.startswith(THIN_ARCHIVE):
        raise UnreadableError(
            f"{path} is a thin archive, which has the names of object files and not their bytes; "
            "compare the folder that has these files"
        )
    if not data.startswith(ARCHIVE):
        return [_read_unit(path, name, data, 0)]
    units, counts = [], Counter[str]()
    for member, begin, end in _members(path, data):
        counts[member] += 1
        number = f"#{counts[member]}" if counts[member] > 1 else ""
        units.append(_read_unit(path, f"{name}({member}{number})", data[begin:end], begin))
    if not units:
        raise UnreadableError(f"{path} is an archive without object files")
    return units


def _members(path: Path, data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yields the names of an archive's members, and where they begin and end."""
    names = b""
    place = len(ARCHIVE)
    while place < len(data):
        header = data[place : place + _MEMBER_HEADER]
        begin = place + _MEMBER_HEADER
        digits = header[48:58].strip()
        if not header.endswith(_MEMBER_END) or not digits.isdigit():
            raise UnreadableError(f"{path} is a broken archive")
        end = begin + int(digits)
        if end > len(data):
            raise UnreadableError(f"{path} is a broken archive: it is cut off")
        place = end + end % 2
        name = header[:16].decode(errors="replace").rstrip()
        if name == "//":
            names = data[begin:end]
            continue
        if name in _INDICES:
            continue
        if re.fullmatch(r"/\d+", name):  # An offset in the table of long names, as GNU has it.
            name = re.split(rb"/?\n|\0", names[int(name[1:]) :])[0].decode(errors="replace")
        elif re.fullmatch(r"#1/\d+", name):  # The length of the name before the bytes, as BSD has.
            length = int(name[3:])
            name = data[begin : begin + length].rstrip(b"\0").decode(errors="replace")
            begin += length
            if name in _INDICES:
                continue
        yield name.removesuffix("/"), begin, end


def _read_unit(path: Path, name: str, data: bytes, offset: int) -> Unit:
    shown = path if not offset else f"{path} ({name.rpartition('(')[2].removesuffix(')')})"
    _check_format(shown, data)
    try:
        return _read_elf(path, name, data, offset, shown)
    except (struct.error, IndexError, OverflowError, MemoryError) as error:
        raise UnreadableError(f"{shown} is a broken ELF file: {error}") from error


def _check_format(shown: object, data: bytes) -> None:
    """Raises an error if a file is not one with sections of machine code."""
    if data.startswith(BITCODE):
        raise UnreadableError(
            f"{shown} is bitcode for link-time optimisation and has no machine code; compare the "
            "linked files"
        )
    if not data.startswith(ELF):
        found = next((text for start, text in _OTHERS.items() if data.startswith(start)), "")
        found = found or ("another file" if data else "an empty file")
        raise UnreadableError(f"expected an ELF file or an archive, got {found}: {shown}")
    if len(data) < _MIN_HEADER or data[4] not in HEADERS or data[5] not in (1, 2):
        raise UnreadableError(f"{shown} is a broken ELF file: its header is wrong or cut off")


def _read_elf(path: Path, name: str, data: bytes, offset: int, shown: object) -> Unit:
    order = byte_order(data)
    kind, machine = struct.unpack_from(order + "HH", data, 16)
    if kind not in _KINDS:
        raise UnreadableError(f"expected an object file, a program or a library, got {shown}")
    sections = read_sections(data)
    if kind != _OBJECT and not any(each.flags & ALLOCATED for each in sections):
        raise UnreadableError(f"{shown} has no table of sections that are loaded")
    names = section_names(data, sections)
    for each, called in zip(sections, names, strict=True):
        if each.kind != NO_BITS and each.offset + each.size > len(data):
            raise UnreadableError(f"{shown} is a broken ELF file: {called or 'it'} is cut off")
        if each.kind == NO_BITS and each.flags & EXECUTABLE and each.size:
            raise UnreadableError(
                f"{shown} has debugging information alone; compare the file that has the code"
            )
    symbols = [*read_symbols(data, sections)]
    if any(text_at(data, each.name) == "__gnu_lto_slim" for each in symbols):
        raise UnreadableError(
            f"{shown} is for link-time optimisation by GCC and has no machine code; compare the "
            "linked files"
        )
    parts = [*_parts(data, sections, names, symbols, is_thumb_possible=machine == _ARM)]
    sizes: Counter[tuple[str, Region]] = Counter()
    for part in parts:
        sizes[part.kind, part.region] += part.size
    width = 32 * data[4]
    ends = "" if data[5] == 1 else " big-endian"
    return Unit(
        path=path,
        name=name,
        offset=offset,
        length=len(data),
        kind=_KINDS[kind],
        machine=f"{width}-bit{ends} {_MACHINES.get(machine, f'machine {machine}')}",
        digest=hashlib.sha256(data).hexdigest(),
        sections=sizes,
        parts=parts,
        has_symbols=any(each.symbol for each in parts) or not any(sizes.values()),
    )


def _region(section: Section) -> Region:
    if section.kind == NO_BITS:
        return Region.BSS
    if section.flags & EXECUTABLE:
        return Region.TEXT
    return Region.DATA if section.flags & WRITABLE else Region.RODATA


def _parts(
    data: bytes,
    sections: Sequence[Section],
    names: Sequence[str],
    symbols: Sequence[Symbol],
    is_thumb_possible: bool,
) -> Iterator[Part]:
    """Yields the symbols of loaded sections, and the rest of each section."""
    at: dict[int, dict[int, list[tuple[Symbol, str]]]] = {}
    source, counts = "", Counter[str]()
    for symbol in symbols:
        if symbol.kind == _FILE:
            source = text_at(data, symbol.name)
            counts[source] += 1  # Sources in several folders may have one name.
            source += f"#{counts[source]}" if counts[source] > 1 else ""
        elif symbol.section == _COMMON_SECTION and symbol.size:
            yield Part(text_at(data, symbol.name), "", _COMMON, Region.BSS, symbol.size)
        elif symbol.size and symbol.kind in _SIZED and 0 < symbol.section < len(sections):
            value = symbol.value
            if is_thumb_possible and symbol.kind in (FUNCTION, _INDIRECT):
                value &= ~1
            local = source if symbol.binding == LOCAL else ""
            at.setdefault(symbol.section, {}).setdefault(value, []).append((symbol, local))
    for number, section in enumerate(sections):
        if not section.flags & ALLOCATED:
            continue
        region, called = _region(section), names[number]
        place, end, used = section.address, section.address + section.size, 0
        for value, group in sorted(at.get(number, {}).items()):
            group.sort(key=lambda each: _rank(data, each[0]))
            (first, local), *others = group
            until = min(value + max(each.size for each, _ in group), end)
            size = max(0, until - max(value, place)) if value >= section.address else 0
            place = max(place, until)
            used += size
            yield Part(
                symbol=text_at(data, first.name),
                source=local,
                section=called,
                region=region,
                size=size,
                value=value,
                number=number,
                is_function=region is Region.TEXT and first.kind in (FUNCTION, _INDIRECT),
                is_local=first.binding == LOCAL,
                aliases=tuple(text_at(data, each.name) for each, _ in others),
            )
        if section.size > used:
            yield Part("", "", called, region, section.size - used, number=number)


def _rank(data: bytes, symbol: Symbol) -> tuple[int, int, int, str]:
    """Returns the order of symbols that share an address: the first one has the bytes."""
    binding = {LOCAL: 2, WEAK: 1}.get(symbol.binding, 0)
    return -symbol.size, binding, _SIZED.index(symbol.kind), text_at(data, symbol.name)


def _without_relocations(
    data: bytes, sections: Sequence[Section], numbers: set[int]
) -> dict[int, bytearray]:
    """Returns the bytes of sections, with zeros where relocations put addresses."""
    contents = {
        number: bytearray(data[sections[number].offset :][: sections[number].size])
        for number in numbers
        if sections[number].kind != NO_BITS and number
    }
    for table in sections:
        if table.kind not in (WITH_ADDENDS, WITHOUT_ADDENDS) or table.info not in contents:
            continue
        content = contents[table.info]
        is_code = sections[table.info].flags & EXECUTABLE
        length = 4 if is_code or data[4] == 1 else 8
        for place, *_ in relocation_entries(data, table):
            end = min(place + length, len(content))
            content[place:end] = bytes(max(0, end - place))
    return contents
