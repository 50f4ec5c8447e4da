"""The sections of object files and linked programs, and the assembly of each function."""

import json
import re
import subprocess
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.elf_reader import ALLOCATED, EXECUTABLE, FUNCTION, NO_BITS
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command

_SECONDS = 600
_READ = ("--elf-output-style=JSON", "--sections", "--symbols", "--stack-sizes")
_DISASSEMBLE = ("--disassemble", "--disassemble-zeroes", "--reloc", "--no-show-raw-insn")

_HEADER = re.compile(r"^Disassembly of section (.*):$", re.M)
_LINE = re.compile(r"^ *([0-9a-f]+):[^\t\n]*\t(.*)$")
_RELOCATION = re.compile(r"^\t\t\t?[0-9a-f]+: +\S+\t(.*)$")
# The address of a symbol, which may be a comment: "# 0x2d <main+0x2d>".
_ADDRESS = re.compile(r"\s*((?:#|//|@)\s*)?\b0x([0-9a-f]+) <(.*)>$")
# The comment of LLVM on a hexadecimal number repeats it.
_IMMEDIATE = re.compile(r"\s+(?:#|//|@) imm = \S+$")
# The names of these may have a part for a function or a kind of constants at their end.
_SECTION_KIND = re.compile(
    r"\.(?:text|[ls]?rodata|data\.rel\.ro|[ls]?data|tdata|[lst]?bss|gcc_except_table|"
    r"ARM\.ex(?:idx|tab)|(?:init|fini)_array)(?=\.|$)"
)


@dataclass(frozen=True)
class Instruction:
    """An instruction of a function.

    Attributes:
        label: Its name as the target of a jump; empty if there is none.
        size: Its bytes.
        text: Its assembly for people, with labels and the names of symbols.
        code: Its assembly for an assembler, with numbers in place of names.
    """

    label: str
    size: int
    text: str
    code: str


@dataclass(frozen=True)
class Image:
    """The parts of an object file or a program that are loaded.

    Attributes:
        arch: The architecture as LLVM names it, such as ``x86_64``.
        code: Bytes of all executable sections.
        tables: Bytes of the other sections by the kind of section, such as ``.rodata``.
        functions: Bytes of functions by symbol; those of one name are added up.
        assembly: The instructions of functions by symbol.
        frames: The bytes of the stack frames of functions by symbol, as far as the file has them.
    """

    arch: str
    code: int
    tables: Mapping[str, int]
    functions: Mapping[str, int]
    assembly: Mapping[str, Sequence[Instruction]]
    frames: Mapping[str, int] = field(default_factory=dict)


class FunctionPlace(NamedTuple):
    """A function in a file.

    Attributes:
        section: The name of its section.
        begin: The value of its symbol, without the bit that says Thumb.
        size: Its bytes.
        symbol: Its symbol.
    """

    section: str
    begin: int
    size: int
    symbol: str


class _Function(NamedTuple):
    begin: int
    end: int
    name: str


def read_image(path: Path) -> Image:
    """Reads an object file or a program.

    Raises:
        EnvironmentNotSupported: If ``llvm-readelf`` or ``llvm-objdump`` is not installed.
        ValueError: If the file cannot be read or disassembled. The text says why.
    """
    (facts,) = json.loads(_output("llvm-readelf", _READ, path))
    sections = [each["Section"] for each in facts["Sections"]]
    loaded = [each for each in sections if _is_loaded(each)]
    tables: Counter[str] = Counter()
    for each in loaded:
        if not _is_code(each):
            tables[section_kind(each["Name"]["Name"])] += each["Size"]
    arch = facts["FileSummary"]["Arch"]
    functions = _functions(facts["Symbols"], arch)
    sizes: Counter[str] = Counter()
    for each in (each for group in functions.values() for each in group):
        sizes[each.name] += each.end - each.begin
    code = [each for each in loaded if _is_code(each) and each["Size"]]
    groups = [functions.get(each["Index"], []) for each in code]
    parts = _HEADER.split(_output("llvm-objdump", _DISASSEMBLE, path))[2::2]
    assembly: dict[str, list[Instruction]] = {}
    # A symbol may have a line break in its name and look like a header. Then there is no assembly.
    if len(parts) == len(groups):
        for text, group in zip(parts, groups, strict=True):
            for name, instructions in _assembly(text, group, arch):
                assembly.setdefault(name, []).extend(instructions)
    frames = {
        name: entry["Size"]
        for entry in (each["Entry"] for each in facts.get("StackSizes", ()))
        for name in entry["Functions"]
    }
    return Image(arch, sum(each["Size"] for each in code), tables, sizes, assembly, frames)


def read_functions(
    path: Path, places: Sequence[FunctionPlace], arch: str
) -> dict[FunctionPlace, list[Instruction]]:
    """Disassembles some functions of an object file or a program, and nothing else.

    Args:
        path: The file.
        places: The functions. Symbols with commas are ignored.
        arch: LLVM's name of the architecture.

    Raises:
        EnvironmentNotSupported: If ``llvm-objdump`` is not installed.
        ValueError: If the file cannot be disassembled. The text says why.
    """
    wanted = [each for each in places if "," not in each.symbol]
    if not wanted:
        return {}
    names = ",".join(dict.fromkeys(each.symbol for each in wanted))
    options = [*_DISASSEMBLE[1:], f"--disassemble-symbols={names}"]
    parts = _HEADER.split(_output("llvm-objdump", options, path))[1:]
    found: dict[FunctionPlace, list[Instruction]] = {}
    for section, text in zip(parts[::2], parts[1::2], strict=True):
        here = sorted(each for each in wanted if each.section == section)
        functions = [
            _Function(each.begin, each.begin + each.size, str(index))
            for index, each in enumerate(here)
        ]
        for index, instructions in _assembly(text, functions, arch):
            found.setdefault(here[int(index)], instructions)
    return found


def _output(tool: str, options: Sequence[str], path: Path) -> str:
    try:
        done = run_command([llvm_tools.tool_path(tool), *options, path], _SECONDS)
    except (CommandError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"{tool} cannot read {path}: {error}") from error
    return str(done.stdout)


def _is_loaded(section: Mapping[str, Any]) -> bool:
    is_allocated = section["Flags"]["Value"] & ALLOCATED
    return bool(is_allocated and section["Type"]["Value"] != NO_BITS)


def _is_code(section: Mapping[str, Any]) -> bool:
    return bool(section["Flags"]["Value"] & EXECUTABLE)


def section_kind(name: str) -> str:
    """Returns the name of a section without a part for a function or a kind of constants."""
    found = _SECTION_KIND.match(name)
    return found[0] if found else name


def _functions(symbols: Sequence[Mapping[str, Any]], arch: str) -> dict[int, list[_Function]]:
    """Returns the functions of each section by address; of several names for one, the first."""
    found: dict[tuple[int, int], _Function] = {}
    for symbol in (each["Symbol"] for each in symbols):
        if symbol["Type"]["Value"] != FUNCTION or not symbol["Size"]:
            continue
        # The lowest bit says that a function of ARM has Thumb instructions.
        begin = symbol["Value"] & ~1 if arch in ("arm", "thumb") else symbol["Value"]
        function = _Function(begin, begin + symbol["Size"], symbol["Name"]["Name"])
        found.setdefault((symbol["Section"]["Value"], begin), function)
    groups: dict[int, list[_Function]] = {}
    for (section, _), function in sorted(found.items()):
        groups.setdefault(section, []).append(function)
    return groups


def _assembly(
    text: str, functions: Sequence[_Function], arch: str
) -> Iterator[tuple[str, list[Instruction]]]:
    """Yields the instructions of each function of a section."""
    begins = [each.begin for each in functions]
    lines: dict[_Function, list[tuple[int, str, str]]] = {}
    current: list[tuple[int, str, str]] = []
    for line in text.splitlines():
        if found := _LINE.match(line):
            address = int(found[1], 16)
            index = bisect_right(begins, address) - 1
            is_inside = index >= 0 and address < functions[index].end
            current = lines.setdefault(functions[index], []) if is_inside else []
            current.append((address, found[2].replace("\t", " ").strip(), ""))
        elif current and (found := _RELOCATION.match(line)) and not current[-1][2]:
            address, code, _ = current[-1]
            symbol = found[1].removesuffix("-0x4") if arch == "x86_64" else found[1]
            current[-1] = (address, code, symbol)
    for function, found_lines in lines.items():
        yield function.name, _instructions(found_lines, function)


def _instructions(lines: Sequence[tuple[int, str, str]], function: _Function) -> list[Instruction]:
    targets = {
        int(found[2], 16)
        for _, code, symbol in lines
        if not symbol and (found := _ADDRESS.search(code)) and not found[1]
    }
    starts = [address for address, _, _ in lines]
    inside = [each for each in starts if each in targets and each != function.begin]
    labels = {address: f"L{number}" for number, address in enumerate(inside, 1)}
    ends = [*starts[1:], function.end]
    return [
        Instruction(
            label=labels.get(address, ""),
            size=end - address,
            text=_readable(code, symbol, labels),
            code=code.partition(" <")[0],
        )
        for (address, code, symbol), end in zip(lines, ends, strict=True)
    ]


def _readable(code: str, symbol: str, labels: Mapping[int, str]) -> str:
    """Returns an instruction with names in place of addresses."""
    code = _IMMEDIATE.sub("", code)
    found = _ADDRESS.search(code)
    if not found:
        return f"{code}  # {symbol}" if symbol else code
    name = symbol or labels.get(int(found[2], 16), found[3])
    return f"{code[: found.start()]}{'  # ' if found[1] else ' '}{name}"


# Estimates of the cycles of functions, by ``llvm-mca``.
#
# The instructions of a function are taken as a straight line that runs again and again. So loops,
# the branches that are taken, cache misses, and the functions that are called play no part.

CALL_CYCLES = 5
"""What a call counts as."""

_ITERATIONS = 10
_MCA_SECONDS = 120

_PROCESSORS = {"x86_64": "skylake-avx512", "aarch64": "cortex-a72", "riscv64": "sifive-u74"}


def processor_of(arch: str) -> str | None:
    """Returns the modelled processor of an architecture; None if there is none."""
    return _PROCESSORS.get(arch)


def estimate_cycles(arch: str, functions: Sequence[Sequence[Instruction]]) -> list[float | None]:
    """Estimates the cycles of functions.

    Args:
        arch: LLVM's name of the architecture.
        functions: The instructions of each function.

    Returns:
        The cycles of each function. None without an estimate: if ``llvm-mca`` is missing, for other
        architectures, and for functions with instructions that are not in the model.
    """
    cycles: list[float | None] = [None] * len(functions)
    processor = processor_of(arch)
    if processor is None or not any(functions):
        return cycles
    options = [f"-mtriple={arch}-unknown-linux-gnu", f"-mcpu={processor}", "-json"]
    options += [f"-iterations={_ITERATIONS}", f"-call-latency={CALL_CYCLES}"]
    options += ["-skip-unsupported-instructions=any"]
    options += ["-instruction-info=0", "-resource-pressure=0"]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        path = Path(folder) / "functions.s"
        path.write_text("".join(map(_region, range(len(functions)), functions)), encoding="utf-8")
        try:
            done = run_command([llvm_tools.tool_path("llvm-mca"), *options, path], _MCA_SECONDS)
        except (EnvironmentNotSupported, CommandError, subprocess.TimeoutExpired):
            return cycles
    for region in json.loads(done.stdout)["CodeRegions"]:
        index, summary = int(region["Name"]), region["SummaryView"]
        known, all_of_them = summary["Instructions"] // summary["Iterations"], functions[index]
        if known == sum(map(_is_instruction, all_of_them)):
            cycles[index] = summary["TotalCycles"] / summary["Iterations"]
    return cycles


def estimate_changed_cycles(before: Path, after: Path) -> tuple[float, float] | None:
    """Estimates the cycles of all functions of two object files.

    Functions without an estimate in one of them are ignored.

    Args:
        before: An object file.
        after: Another object file of the same source.

    Returns:
        The sums of the cycles; None if there is no estimate.
    """
    try:
        images = read_image(before), read_image(after)
    except (EnvironmentNotSupported, ValueError):
        return None
    names = sorted({name for image in images for name in image.assembly})
    pairs = [[tuple(image.assembly.get(name, ())) for image in images] for name in names]
    # Most functions are equal in both.
    different = [*dict.fromkeys(function for pair in pairs for function in pair)]
    cycles = dict(zip(different, estimate_cycles(images[0].arch, different), strict=True))
    cycles[()] = 0.0
    known = [
        (old, new)
        for old, new in ((cycles[old], cycles[new]) for old, new in pairs)
        if old is not None and new is not None
    ]
    return (sum(old for old, _ in known), sum(new for _, new in known)) if known else None


def _region(index: int, instructions: Sequence[Instruction]) -> str:
    lines = [f"  {each.code}" for each in instructions if _is_instruction(each)]
    return "\n".join([f"/* LLVM-MCA-BEGIN {index} */", *lines, f"/* LLVM-MCA-END {index} */", ""])


def _is_instruction(line: Instruction) -> bool:
    """Returns True if a line is an instruction. llvm-mca would obey directives."""
    return not line.code.startswith((".", "<"))
