"""Measurements of an object file: sizes of its parts, instructions, stack use, and functions."""

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
from typing import TypeVar

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.elf_reader import (
    ALLOCATED,
    COMDAT,
    DEFAULT,
    DYNAMIC_SYMBOLS,
    EXECUTABLE,
    FUNCTION,
    GROUP,
    HEADERS,
    LOCAL,
    NO_BITS,
    PROTECTED,
    STRINGS,
    SYMBOL,
    SYMBOLS,
    WEAK,
    WITH_ADDENDS,
    WITHOUT_ADDENDS,
    X86,
    Place,
    Section,
    Symbol,
    byte_order,
    machine_of,
    read_sections,
    read_symbols,
    relocation_targets,
    section_names,
    text_at,
)
from compiler_gym.tuning.size.outlined import OUTLINED, outlined_bytes
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.started_programs import run_started

Result = TypeVar("Result")

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
        needed: The symbols that other object files or libraries have to define.
        outlined: Bytes of outlined code by the symbols of the functions that enter it.
        is_x86: Whether it is for an x86 processor.
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
    needed: frozenset[str] = frozenset()
    outlined: Mapping[str, int] = field(default_factory=dict)
    is_x86: bool = True

    @property
    def instruction_count(self) -> int | None:
        """The machine instructions of all functions; None if not counted."""
        return None if self.instructions is None else sum(self.instructions.values())


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
    if data[:4] != b"\x7fELF" or len(data) < 64 or data[4] not in HEADERS:
        raise ValueError(
            f"expected an object file of the format ELF, got another one in {path}; choose a "
            "target with ELF files, such as x86_64-linux-gnu"
        )
    try:
        return read(data)
    except (struct.error, IndexError) as error:
        raise ValueError(f"{path} is a broken object file: {error}") from error


def _exported(data: bytes) -> frozenset[str]:
    symbols = read_symbols(data, read_sections(data), DYNAMIC_SYMBOLS)
    return frozenset(
        text_at(data, each.name)
        for each in symbols
        if each.section and each.binding and each.visibility in (DEFAULT, PROTECTED)
    )


def _read(data: bytes) -> ObjectFile:
    sections = read_sections(data)
    loaded = [each for each in sections if each.flags & ALLOCATED and each.kind != NO_BITS]
    code = [each for each in loaded if each.flags & EXECUTABLE]
    contents = (data[each.offset : each.offset + each.size] for each in code)
    symbols = [*read_symbols(data, sections)]
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
            text_at(data, each.name)
            for each in symbols
            if each.binding == WEAK and each.section and each.visibility in (DEFAULT, PROTECTED)
        ),
        needed=frozenset(
            text_at(data, each.name)
            for each in symbols
            if each.name and not each.section and each.binding not in (LOCAL, WEAK)
        ),
        outlined=outlined_bytes(data, sections, symbols, functions),
        is_x86=machine_of(data) in X86,
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
    order, width = byte_order(data), data[4]
    word, place, _ = HEADERS[width]
    flags = place + struct.calcsize(word)
    yield data[:20], struct.unpack_from(order + "I", data, flags)
    sections = read_sections(data)
    for each, name in zip(sections, section_names(data, sections), strict=True):
        is_table = each.kind in (SYMBOLS, STRINGS)
        hidden = is_table or each.kind == NO_BITS
        content = b"" if hidden else data[each.offset : each.offset + each.size]
        size = 0 if is_table else each.size
        facts = each.kind, each.flags, each.link, each.info, each.alignment, each.entry
        yield name, facts, size, hashlib.sha256(content).digest()
    for symbol in read_symbols(data, sections):
        name = text_at(data, symbol.name)
        is_private = name.startswith(_PRIVATE) and symbol.binding == LOCAL
        yield _NUMBERS.sub("", name) if is_private else name, symbol[1:]


def _functions(
    data: bytes, sections: list[Section], symbols: list[Symbol]
) -> dict[Place, tuple[str, int]]:
    """Returns name and size of each function. If it has several names, the first."""
    functions: dict[Place, tuple[str, int]] = {}
    for symbol in symbols:
        place = symbol.section, symbol.value
        if symbol.kind == FUNCTION and symbol.size and place not in functions:
            functions[place] = text_at(data, symbol.name), symbol.size
    return functions


def _shared(
    data: bytes,
    sections: list[Section],
    functions: Mapping[Place, tuple[str, int]],
    unwinding: Mapping[Place, int],
) -> Iterator[tuple[str, Shared]]:
    """Yields COMDAT groups by the names of their signatures."""
    order = byte_order(data)
    groups: dict[int, list[Section]] = {}
    names: dict[int, str] = {}
    group_of: dict[int, int] = {}
    for number, group in enumerate(sections):
        if group.kind != GROUP:
            continue
        content = data[group.offset : group.offset + group.size]
        flags, *members = struct.unpack(f"{order}{len(content) // 4}I", content)
        if flags & COMDAT:
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
        loaded = [it for it in members if it.flags & ALLOCATED and it.kind != NO_BITS]
        yield (
            names[number],
            Shared(
                text=sum(each.size for each in loaded if each.flags & EXECUTABLE),
                all=sum(each.size for each in loaded) + sum(entries[number]),
                entries=len(entries[number]),
                functions=tuple(symbols[number]),
            ),
        )


def _signature(data: bytes, sections: list[Section], group: Section) -> str:
    """Returns the name of the symbol that identifies a group."""
    table = sections[group.link]
    layout = struct.Struct(byte_order(data) + SYMBOL[data[4]])
    name, *_ = layout.unpack_from(data, table.offset + group.info * layout.size)
    return text_at(data, sections[table.link].offset + name)


def _unwinding(
    data: bytes, sections: list[Section], symbols: list[Symbol]
) -> Iterator[tuple[Place, int]]:
    """Yields the places and sizes of the entries of functions in the table for unwinding."""
    width = data[4]
    order = byte_order(data)
    (names,) = struct.unpack_from(order + "H", data, HEADERS[width][2] + 2 * 2)
    for relocations in sections:
        if relocations.kind not in (WITH_ADDENDS, WITHOUT_ADDENDS):
            continue
        table = sections[relocations.info]
        if not data.startswith(_UNWINDING, sections[names].offset + table.name):
            continue
        places = dict(relocation_targets(data, relocations, table.offset, symbols))
        position = 0
        while position < table.size:
            length, parent = struct.unpack_from(order + "II", data, table.offset + position)
            if parent and position + 8 in places:
                yield places[position + 8], length + 4
            position += length + 4


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
# SOURCE:LINE:FUNCTION, bytes and a kind, with tabs between. The source may have line breaks.
_FRAME = re.compile(r"([^:\n]*)\t(\d+)\t.+$", re.MULTILINE)


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
    frames = [(int(size), function) for function, size in _FRAME.findall(text)]
    if not frames:
        return None
    largest, function = max(frames)
    return StackUse(largest, function, sum(size for size, _ in frames))


# A comparison of two object files, function by function.

_OUTLINED = re.compile(rf"{OUTLINED}\w+")
_ALL_OUTLINED = f"{OUTLINED}…"
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
