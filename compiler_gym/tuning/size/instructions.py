"""Counts the machine instructions of object files, as ``llvm-objdump -d`` lists them.

It counts the disassembled lines between the start and the end of each function, by the sizes of
symbols, in executable sections. Padding after a function, code outside of functions, and marked
data in code (as on ARM) do not count. A prefix on its own line, such as ``lock``, is a part of the
next instruction.
"""

import re
import subprocess
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.util.commands import CommandError
from compiler_gym.util.started_programs import run_started

_SECONDS = 600

# Shows instructions that consist of zeros, and all names of a function, because otherwise an
# unspecified one is shown.
_OPTIONS = ("--disassemble", "--disassemble-zeroes", "--no-show-raw-insn", "--show-all-symbols")

_SECTION = re.compile(r"^Disassembly of section .*:$", re.M)
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
        text = run_started([tools.tool_path("llvm-objdump"), *_OPTIONS, path], _SECONDS).stdout
    except (CommandError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"The instructions of {path} cannot be counted: {error}") from error
    counts = {
        name: count
        for section in _SECTION.split(text)[1:]
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
