"""Measurements of an object file: sizes of its parts, instructions, stack use, and functions.

pyelftools would be too slow. It makes a Python object of each symbol, and a search reads thousands
of these files.
"""

import hashlib
import re
import struct
import subprocess
import tempfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.started_programs import run_started

Result = TypeVar("Result")

# Types of sections.
_SYMBOLS, _STRINGS, _WITH_ADDENDS, _NO_BITS, _WITHOUT_ADDENDS = 2, 3, 4, 8, 9
_DYNAMIC_SYMBOLS, _GROUP = 11, 17
_ALLOCATED, _EXECUTABLE = 2, 4  # Flags of sections.
_COMDAT = 1  # The flag of groups.
_FUNCTION = 2  # The type of symbols.
_LOCAL, _WEAK = 0, 2  # Their binding.
_DEFAULT, _PROTECTED = 0, 3  # Their visibility.

# The formats of section headers and symbols, by the class of the file.
_SECTION = {1: "10I", 2: "IIQQQQIIQQ"}
_SYMBOL = {1: "IIIBBH", 2: "IBBHQQ"}
# The formats of relocations: offset, symbol and kind, addend. Symbols begin at the bit after.
_RELOCATION = {1: "IIi", 2: "QQq"}
_SYMBOL_BIT = {1: 8, 2: 32}
# The positions of the offset, size and number of section headers in a file.
_HEADERS = {1: ("I", 0x20, 0x2E), 2: ("Q", 0x28, 0x3A)}
_UNWINDING = b".eh_frame\0"

_PRIVATE = ".L"
_NUMBERS = re.compile(r"\d+$")


@dataclass(frozen=True)
class Shared:
    """Sections that several object files may have, and the linker keeps once: a COMDAT group.

    Inline functions, templates and their constants are in such groups.

    Attributes:
        text: Bytes of code.
        all: Loaded bytes: those of the sections, and of the entries in ``.eh_frame``.
        entries: The number of these entries.
        functions: The symbols of the functions.
    """

    text: int = 0
    all: int = 0
    entries: int = 0
    functions: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObjectFile:
    """The sizes and digests of an object file.

    Attributes:
        text: Bytes of code, in all executable sections.
        all: Bytes that are loaded: code, constants, initialised data, tables for exceptions.
        functions: The bytes of each function by its symbol.
        unwinding: The bytes of the entry of functions in the table for unwinding, ``.eh_frame``,
            by the symbol.
        code: A digest of the executable sections.
        digest: A digest of the whole file.
        instructions: The machine instructions of each function by its symbol; None if not
            counted.
        shared: What other object files may have, too, by the signature of the group.
        exported: The weak symbols that a shared library of this object file exports.
    """

    text: int
    all: int
    functions: dict[str, int]
    code: str
    digest: str
    instructions: Mapping[str, int] | None = None
    unwinding: Mapping[str, int] = field(default_factory=dict)
    shared: Mapping[str, Shared] = field(default_factory=dict)
    exported: frozenset[str] = frozenset()

    @property
    def instruction_count(self) -> int | None:
        """The machine instructions of all functions; None if not counted."""
        return None if self.instructions is None else sum(self.instructions.values())


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class _Symbol(NamedTuple):
    name: int
    kind: int
    section: int
    value: int
    size: int
    binding: int
    visibility: int


def read_object(path: Path) -> ObjectFile:
    """Reads an object file.

    Raises:
        ValueError: If it is not an ELF file.
        OSError: If it cannot be read.
    """
    return _reading(path, _read)


def exported_symbols(path: Path) -> frozenset[str]:
    """Returns the symbols that a program or a shared library defines for others.

    Raises:
        ValueError: If it is not an ELF file.
        OSError: If it cannot be read.
    """
    return _reading(path, _exported)


def _reading(path: Path, read: Callable[[bytes], Result]) -> Result:
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or len(data) < 64:
        raise ValueError(
            f"expected an object file of the format ELF, got another one in {path}; choose a "
            "target with ELF files, such as x86_64-linux-gnu"
        )
    try:
        return read(data)
    except (struct.error, IndexError) as error:
        raise ValueError(f"{path} is a broken object file: {error}") from error


def _exported(data: bytes) -> frozenset[str]:
    symbols = _symbols(data, _sections(data), _DYNAMIC_SYMBOLS)
    return frozenset(
        _text(data, each.name)
        for each in symbols
        if each.section and each.binding and each.visibility in (_DEFAULT, _PROTECTED)
    )


def _read(data: bytes) -> ObjectFile:
    sections = _sections(data)
    loaded = [each for each in sections if each.flags & _ALLOCATED and each.kind != _NO_BITS]
    code = [each for each in loaded if each.flags & _EXECUTABLE]
    contents = (data[each.offset : each.offset + each.size] for each in code)
    symbols = [*_symbols(data, sections)]
    functions = _functions(data, sections, symbols)
    unwinding = {place: size for place, size in _unwinding(data, sections, symbols)}
    return ObjectFile(
        text=sum(each.size for each in code),
        all=sum(each.size for each in loaded),
        functions={name: size for name, size in functions.values()},
        code=hashlib.sha256(b"\0".join(contents)).hexdigest(),
        digest=hashlib.sha256(data).hexdigest(),
        unwinding={
            functions[place][0]: size for place, size in unwinding.items() if place in functions
        },
        shared=dict(_shared(data, sections, functions, unwinding)),
        exported=frozenset(
            _text(data, each.name)
            for each in symbols
            if each.binding == _WEAK and each.section and each.visibility in (_DEFAULT, _PROTECTED)
        ),
    )


def content_digest(path: Path) -> str:
    """Returns a digest of an object file that ignores how it is laid out, and private names.

    clang numbers private symbols, such as ``.Lstr.3``, in the order in which it makes them. These
    numbers differ between a compilation of a source and one of its unoptimised bitcode.

    Raises:
        ValueError: If it is not an ELF file.
        OSError: If it cannot be read.
    """
    return _reading(path, _content_digest)


def _content_digest(data: bytes) -> str:
    return hashlib.sha256(repr([*_contents(data)]).encode()).hexdigest()


def _contents(data: bytes) -> Iterator[object]:
    """Yields the header, sections and symbols of an object file."""
    order, width = _order(data), data[4]
    word, place, sizes = _HEADERS[width]
    flags = place + struct.calcsize(word)
    yield data[:20], struct.unpack_from(order + "I", data, flags)
    sections = _sections(data)
    (names,) = struct.unpack_from(order + "H", data, sizes + 2 * 2)
    for each in sections:
        is_table = each.kind in (_SYMBOLS, _STRINGS)
        hidden = is_table or each.kind == _NO_BITS
        content = b"" if hidden else data[each.offset : each.offset + each.size]
        name = _text(data, sections[names].offset + each.name)
        size = 0 if is_table else each.size
        facts = each.kind, each.flags, each.link, each.info, each.alignment, each.entry
        yield name, facts, size, hashlib.sha256(content).digest()
    for symbol in _symbols(data, sections):
        name = _text(data, symbol.name)
        is_private = name.startswith(_PRIVATE) and symbol.binding == _LOCAL
        yield _NUMBERS.sub("", name) if is_private else name, symbol[1:]


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
    return [_Section(*each[:3], *each[4:10]) for each in headers]


_Place = tuple[int, int]
"""The number of a section, and an offset in it."""


def _symbols(data: bytes, sections: list[_Section], kind: int = _SYMBOLS) -> Iterator[_Symbol]:
    width = data[4]
    layout = struct.Struct(_order(data) + _SYMBOL[width])
    for table in (each for each in sections if each.kind == kind):
        names = sections[table.link].offset
        for fields in layout.iter_unpack(data[table.offset : table.offset + table.size]):
            if width == 1:
                name, value, size, info, other, section = fields
            else:
                name, info, other, section, value, size = fields
            yield _Symbol(names + name, info & 15, section, value, size, info >> 4, other & 3)


def _functions(
    data: bytes, sections: list[_Section], symbols: list[_Symbol]
) -> dict[_Place, tuple[str, int]]:
    """Returns name and size of each function. If it has several names, the first."""
    functions: dict[_Place, tuple[str, int]] = {}
    for symbol in symbols:
        place = symbol.section, symbol.value
        if symbol.kind == _FUNCTION and symbol.size and place not in functions:
            functions[place] = _text(data, symbol.name), symbol.size
    return functions


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode(errors="replace")


def _shared(
    data: bytes,
    sections: list[_Section],
    functions: Mapping[_Place, tuple[str, int]],
    unwinding: Mapping[_Place, int],
) -> Iterator[tuple[str, Shared]]:
    """Yields COMDAT groups by the names of their signatures."""
    order = _order(data)
    groups: dict[int, list[_Section]] = {}
    names: dict[int, str] = {}
    group_of: dict[int, int] = {}
    for number, group in enumerate(sections):
        if group.kind != _GROUP:
            continue
        content = data[group.offset : group.offset + group.size]
        flags, *members = struct.unpack(f"{order}{len(content) // 4}I", content)
        if flags & _COMDAT:
            names[number] = _signature(data, sections, group)
            groups[number] = [sections[member] for member in members]
            group_of |= dict.fromkeys(members, number)
    symbols: dict[int, list[str]] = {number: [] for number in groups}
    entries: dict[int, list[int]] = {number: [] for number in groups}
    for (section, _), (name, _) in functions.items():
        if section in group_of:
            symbols[group_of[section]].append(name)
    for (section, _), size in unwinding.items():
        if section in group_of:
            entries[group_of[section]].append(size)
    for number, members in groups.items():
        loaded = [it for it in members if it.flags & _ALLOCATED and it.kind != _NO_BITS]
        yield (
            names[number],
            Shared(
                text=sum(each.size for each in loaded if each.flags & _EXECUTABLE),
                all=sum(each.size for each in loaded) + sum(entries[number]),
                entries=len(entries[number]),
                functions=tuple(symbols[number]),
            ),
        )


def _signature(data: bytes, sections: list[_Section], group: _Section) -> str:
    """Returns the name of the symbol that identifies a group."""
    table = sections[group.link]
    layout = struct.Struct(_order(data) + _SYMBOL[data[4]])
    name, *_ = layout.unpack_from(data, table.offset + group.info * layout.size)
    return _text(data, sections[table.link].offset + name)


def _unwinding(
    data: bytes, sections: list[_Section], symbols: list[_Symbol]
) -> Iterator[tuple[_Place, int]]:
    """Yields the places and sizes of the entries of functions in the table for unwinding."""
    width = data[4]
    order = _order(data)
    (names,) = struct.unpack_from(order + "H", data, _HEADERS[width][2] + 2 * 2)
    for relocations in sections:
        if relocations.kind not in (_WITH_ADDENDS, _WITHOUT_ADDENDS):
            continue
        table = sections[relocations.info]
        if not data.startswith(_UNWINDING, sections[names].offset + table.name):
            continue
        places = dict(_targets(data, relocations, table.offset, symbols))
        position = 0
        while position < table.size:
            length, parent = struct.unpack_from(order + "II", data, table.offset + position)
            if parent and position + 8 in places:
                yield places[position + 8], length + 4
            position += length + 4


def _targets(
    data: bytes, relocations: _Section, start: int, symbols: list[_Symbol]
) -> Iterator[tuple[int, _Place]]:
    """Yields the places to which relocations of a section refer, by their offset in it."""
    width, order = data[4], _order(data)
    has_addend = relocations.kind == _WITH_ADDENDS
    layout = struct.Struct(order + _RELOCATION[width][: 3 if has_addend else 2])
    content = data[relocations.offset : relocations.offset + relocations.size]
    for offset, info, *addends in layout.iter_unpack(content):
        number = info >> _SYMBOL_BIT[width]
        if number < len(symbols):  # MIPS has another format.
            added = addends or struct.unpack_from(order + "i", data, start + offset)
            symbol = symbols[number]
            yield offset, (symbol.section, symbol.value + added[0])


# Counts the machine instructions of object files, as ``llvm-objdump -d`` lists them.
#
# What counts is what is disassembled between the beginning and the end of the functions, by the
# sizes of their symbols, in executable sections. So these do not count: padding after the end of a
# function, code that is part of no function, and data among code where the target marks it, as ARM
# does. A prefix that is printed as if it were an instruction, ``lock``, belongs to the next one.

_DISASSEMBLY_SECONDS = 600

# Shows instructions that consist of zeros, and all names of a function, because otherwise an
# unspecified one is shown.
_OPTIONS = ("--disassemble", "--disassemble-zeroes", "--no-show-raw-insn", "--show-all-symbols")

_DISASSEMBLED_SECTION = re.compile(r"^Disassembly of section .*:$", re.M)
_LABEL = re.compile(r"^([0-9a-f]+) <(.*)>:$", re.M)
# For data, the bytes are always printed before the tab.
_LINE = re.compile(r"^ *([0-9a-f]+):[^\t\n]*\t *(\S+)", re.M)
_PREFIX = "lock"


def count_instructions(path: Path, sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns the number of instructions of each function of an object file, by its symbol.

    Bytes that cannot be disassembled count as an instruction.

    Args:
        path: The object file.
        sizes: The bytes of each function by its symbol, as :func:`read_object` returns them.

    Raises:
        EnvironmentNotSupported: If there is no ``llvm-objdump``. The text says what to install.
        ValueError: If the object file cannot be disassembled. The text says why.
    """
    try:
        text = run_started(
            [llvm_tools.tool_path("llvm-objdump"), *_OPTIONS, path], _DISASSEMBLY_SECONDS
        ).stdout
    except (CommandError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"The instructions of {path} cannot be counted: {error}") from error
    counts = {
        name: count
        for section in _DISASSEMBLED_SECTION.split(text)[1:]
        for name, count in _counts_of_section(section, sizes)
    }
    # A missed function would look like a gain.
    if missing := [name for name in sizes if name not in counts]:
        raise ValueError(f"llvm-objdump does not list the function {missing[0]} of {path}")
    return counts


def read_with_instructions(path: Path) -> ObjectFile:
    """Reads an object file, and counts its instructions.

    Raises:
        EnvironmentNotSupported: If there is no ``llvm-objdump``.
        ValueError: If it is not an ELF file, or cannot be disassembled.
        OSError: If it cannot be read.
    """
    found = read_object(path)
    return replace(found, instructions=count_instructions(path, found.functions))


def _counts_of_section(text: str, sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    addresses = [int(place, 16) for place, word in _LINE.findall(text) if _is_instruction(word)]
    for place, name in _LABEL.findall(text):
        if name in sizes:
            begin = int(place, 16)
            end = begin + sizes[name]
            yield name, bisect_left(addresses, end) - bisect_left(addresses, begin)


def _is_instruction(word: str) -> bool:
    """Returns True if the first word of a line is an instruction, not data or a prefix."""
    return not word.startswith(".") and word != _PREFIX


# The stack that the functions of an object file use, by ``clang -fstack-usage``.

_COMPILATION_SECONDS = 3600


@dataclass(frozen=True)
class StackUse:
    """The sizes of stack frames, without what grows at run time.

    Attributes:
        largest: Bytes of the largest frame.
        function: The function that has it.
        total: Bytes of the frames of all functions.
    """

    largest: int
    function: str
    total: int


def stack_use(compilation: Compilation, change: Change) -> StackUse | None:
    """Returns the stack use of what clang makes of a source with a change.

    Returns:
        None if clang does not tell, as for some targets, or there is no function.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        made = Path(folder) / "made.o"
        try:
            run_command(
                [*compilation.command(made, change), "-fstack-usage"], timeout=_COMPILATION_SECONDS
            )
            text = made.with_suffix(".su").read_text(encoding="utf-8", errors="backslashreplace")
        except (OSError, subprocess.SubprocessError):
            return None
    # A line is SOURCE:LINE:FUNCTION, bytes and a kind, with tabs between.
    lines = map(_fields, text.splitlines())
    frames = [(int(size), place.rpartition(":")[2]) for place, size, _ in lines]
    if not frames:
        return None
    largest, function = max(frames)
    return StackUse(largest, function, sum(size for size, _ in frames))


def _fields(line: str) -> list[str]:
    return line.rsplit("\t", 2)


# A comparison of two object files, function by function.

_OUTLINED = re.compile(r"OUTLINED_FUNCTION_\w+")
_ALL_OUTLINED = "OUTLINED_FUNCTION_…"
_DEMANGLE_SECONDS = 60


@dataclass(frozen=True)
class FunctionChange:
    """A function before and after.

    Attributes:
        name: The symbol. All functions of the outliner count as one.
        before: The size before, in bytes or instructions; 0 if there was no such function.
        after: The size after; 0 if the function has gone, for example by inlining.
    """

    name: str
    before: int
    after: int

    @property
    def saved(self) -> int:
        """The reduction of the size."""
        return self.before - self.after


def compare_functions(before: Mapping[str, int], after: Mapping[str, int]) -> list[FunctionChange]:
    """Returns the functions with a different size, the largest change first."""
    old, new = group_functions(before), group_functions(after)
    changes = [FunctionChange(name, old[name], new[name]) for name in {**old, **new}]
    changed = [each for each in changes if each.saved]
    return sorted(changed, key=lambda each: (-abs(each.saved), each.name))


def readable_names(symbols: Sequence[str]) -> list[str]:
    """Returns demangled names of C++ functions. Other names are unchanged."""
    try:
        command = [llvm_tools.tool_path("llvm-cxxfilt")]
        done = run_command(command, _DEMANGLE_SECONDS, stdin="\n".join(symbols))
    except (EnvironmentNotSupported, OSError, subprocess.SubprocessError):
        return [*symbols]
    names = done.stdout.splitlines()
    return names if len(names) == len(symbols) else [*symbols]


def group_functions(sizes: Mapping[str, int]) -> Counter[str]:
    """Returns the sizes of functions. All functions of the outliner count as one."""
    grouped: Counter[str] = Counter()
    for name, size in sizes.items():
        grouped[group_name(name)] += size
    return grouped


def group_name(symbol: str) -> str:
    """Returns the name for comparisons. All functions of the outliner share one."""
    return _OUTLINED.sub(_ALL_OUTLINED, symbol)
