"""Texts for models: pieces that fit a budget, tables, and parts of textual IR."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from compiler_gym.agents.problems import AgentError
from compiler_gym.errors.nearest_names import did_you_mean

_LABEL = re.compile(r'^("[^"]*"|[\w.$-]+):')
_SUCCESSOR = re.compile(r'label %("[^"]*"|[\w.$-]+)')
_DEFINE = re.compile(r'^define .*?@("[^"]*"|[\w.$-]+)\(', re.M)
# The first word of a definition is its linkage, if that is not the usual one.
_DEFINITION = re.compile(
    r'^(?:define (?P<kind>\w*).*?@(?P<function>"[^"]*"|[\w.$-]+)\('
    r'|@(?P<variable>"[^"]*"|[\w.$-]+) = (?P<linkage>\w+))',
    re.M,
)
# Linkage of symbols that are private, or defined elsewhere.
_DISCARDABLE = {
    *("internal", "private", "linkonce", "linkonce_odr", "available_externally"),
    *("external", "extern_weak", "appending"),
}


def page(text: str, budget: int, offset: int = 0, rest: str = "offset") -> str:
    """Returns the part of a text that fits a budget, and a line that says how to get the rest.

    Args:
        text: The text.
        budget: The number of characters.
        offset: The number of characters to skip, from an earlier page.
        rest: The argument of the tool that takes the next offset.

    Raises:
        AgentError: If the text ends before.
    """
    if offset < 0 or (offset and offset >= len(text)):
        raise AgentError(f"expected offset from 0 to {max(0, len(text) - 1)}, got {offset}")
    end = offset + budget
    if end >= len(text):
        return text[offset:]
    # Cut at the end of a line, where that costs little.
    line_end = text.rfind("\n", offset + budget // 2, end)
    end = end if line_end < 0 else line_end + 1
    return (
        f"{text[offset:end].rstrip()}\n[characters {offset} to {end} of {len(text)}; for the rest "
        f"call this tool again with {rest}={end}]"
    )


def table(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows in columns, the first one to the left and others to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    )


def function_names(ir: str) -> list[str]:
    """Returns the names of the functions that have a body, in their order."""
    return [name.strip('"') for name in _DEFINE.findall(ir)]


def function_text(ir: str, name: str) -> str:
    """Returns the textual IR of a function.

    Raises:
        AgentError: If there is no function with that name and a body.
    """
    for match in _DEFINE.finditer(ir):
        if match[1].strip('"') == name:
            return ir[match.start() : ir.index("\n}", match.start()) + 2]
    names = function_names(ir)
    raise AgentError(
        f"expected the name of a function of the program, got {name!r}."
        f"{did_you_mean(name, names)} Call function_sizes for all names"
    )


class Block(NamedTuple):
    """A basic block: its name, its instructions by opcode, and the blocks that can follow."""

    name: str
    opcodes: Counter[str]
    successors: list[str]


def blocks_of(function: str) -> Iterator[Block]:
    """Yields the basic blocks of the textual IR of a function."""
    name, opcodes, successors = "entry", Counter[str](), list[str]()
    for line in function.splitlines()[1:-1]:
        if label := _LABEL.match(line):
            if opcodes:
                yield Block(name, opcodes, successors)
            name, opcodes, successors = label[1].strip('"'), Counter(), []
        elif line.strip():
            successors += [each.strip('"') for each in _SUCCESSOR.findall(line)]
            if line.startswith("  ") and not line.startswith(("   ", "  ]")):
                opcodes[_opcode(line)] += 1
    yield Block(name, opcodes, successors)


def _opcode(line: str) -> str:
    words = line.split()
    if len(words) > 2 and words[1] == "=":
        words = words[2:]
    if words[0] in ("tail", "musttail", "notail"):
        return "call"
    return words[0]


def kept_symbols(ir: str) -> frozenset[str]:
    """Returns the functions and variables of a module that other modules may use.

    A transformation must keep them, because other modules may need them.
    """
    return frozenset(
        (match["function"] or match["variable"]).strip('"')
        for match in _DEFINITION.finditer(ir)
        if (match["kind"] or match["linkage"]) not in _DISCARDABLE
    )
