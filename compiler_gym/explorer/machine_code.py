"""The machine code of states, function by function."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.explorer import messages
from compiler_gym.explorer.commands import Tools
from compiler_gym.explorer.workbench import Workbench
from compiler_gym.util import llvm_tools

_SYMBOL = re.compile(r"^[0-9a-f]+ .{7} (\S+)\t([0-9a-f]+) (?:\.hidden )?(.+)$")
_START = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_INSTRUCTION = re.compile(r"^ *([0-9a-f]+): *\t(.+)$")
_RELOCATION = re.compile(r"^\t+[0-9a-f]+:  (\S+)\t(.+)$")
_LINE = re.compile(r"^; (.*):(\d+)$")

_COMMENT = re.compile(r"\s+# (imm = |0x).*$")
_TARGET = re.compile(r"0x[0-9a-f]+ <.+\+(0x[0-9a-f]+)>")
_FUNCTION = re.compile(r"0x[0-9a-f]+ <([^>]+)>")
# What a disassembler takes for the target of a call that the linker fills in: the next instruction.
_OWN_PLACE = re.compile(r" +\.\+\d+$")

SOURCE_NAME = "<source>"
"""The file name that the source has in debug information."""


@dataclass
class Function:
    """The machine code of a function.

    Attributes:
        name: The function's symbol.
        size: The bytes of its code.
        offsets: The offset of each instruction from the function's beginning.
        texts: The instructions.
        lines: The line of the source of each instruction; 0 where it is not known.
    """

    name: str
    size: int
    offsets: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def code(bench: Workbench, state: messages.State) -> messages.Code:
    """Returns the machine code of a state, whose size is ``ObjectTextSizeBytes``.

    Raises:
        ExplorerError: If there is no such state, or LLVM cannot make code of it.
        EnvironmentNotSupported: If the LLVM tools are not installed.
    """
    bitcode, total = bench.observe(state.program, state.actions, ["Bitcode", "ObjectTextSizeBytes"])
    with bench.tools.folder() as folder:
        functions = disassembled(bitcode.tobytes(), bench.tools, folder)
    return messages.Code(
        bytes=int(total),
        functions=[
            messages.CodeFunction(
                name=each.name, bytes=each.size, offsets=each.offsets, texts=each.texts
            )
            for each in functions
        ],
    )


def disassembled(bitcode: bytes, tools: Tools, folder: Path) -> list[Function]:
    """Generates the code of a program for size, as it is measured, and disassembles it.

    Args:
        bitcode: The program.
        tools: Runs the tools.
        folder: A folder of theirs.

    Returns:
        The functions in the order of the object file.

    Raises:
        CommandError: If a tool fails.
        EnvironmentNotSupported: If the LLVM tools are not installed.
    """
    plugin = llvm_tools.own_passes_path()
    if plugin is None:
        raise EnvironmentNotSupported("The plugin with the project's own passes is missing")
    marked, object_file = folder / "marked.bc", folder / "program.o"
    passes = "-passes=module(default<O0>,mark-for-size<Oz>)"
    opt: list[str | Path] = [llvm_tools.opt_path(), f"-load-pass-plugin={plugin}", passes, "-"]
    tools.run([*opt, "-o", marked], folder, bitcode)
    options = ["-Oz", "-Xclang", "-disable-llvm-passes", "-fno-caret-diagnostics", "-w", "-c"]
    tools.run([llvm_tools.clang_path(), *options, marked, "-o", object_file], folder)
    shown = ["--syms", "-d", "-r", "-l", "--no-show-raw-insn", "--no-print-imm-hex"]
    text, _ = tools.run([llvm_tools.tool_path("llvm-objdump"), *shown, object_file], folder)
    return [*_functions_of(text.decode(errors="replace"))]


def _functions_of(text: str) -> Iterator[Function]:
    """Yields the functions of the output of ``llvm-objdump``."""
    sizes: dict[str, int] = {}
    function: Function | None = None
    start = line = 0
    for row in text.splitlines():
        if symbol := _SYMBOL.match(row):
            sizes[symbol[3]] = int(symbol[2], 16)
        elif found := _START.match(row):
            if function:
                yield function
            start, line = int(found[1], 16), 0
            function = Function(found[2], sizes.get(found[2], 0))
        elif function is None:
            continue
        elif found := _LINE.match(row):
            line = int(found[2]) if found[1].endswith(SOURCE_NAME) else 0
        elif found := _INSTRUCTION.match(row):
            function.offsets.append(int(found[1], 16) - start)
            function.texts.append(_instruction(found[2]))
            function.lines.append(line)
        elif (found := _RELOCATION.match(row)) and function.texts:
            name = found[2].removesuffix("-0x4")  # The size of the field itself, on x86.
            function.texts[-1] = f"{_OWN_PLACE.sub('', function.texts[-1])}  # {name}"
    if function:
        yield function


def _instruction(text: str) -> str:
    """Returns an instruction with targets as offsets in the function, as the page numbers them."""
    text = _COMMENT.sub("", text.replace("\t", " ").rstrip())
    text = _TARGET.sub(lambda found: f".+{int(found[1], 16)}", text)
    return _FUNCTION.sub(r"\1", text)
