"""Numbers of values in one version of a program, by those in another.

In textual IR values without names are numbered in their order, so a pass that takes away one
instruction renumbers all that follow. Here they keep the numbers of the other version as far as the
instructions are the same, so that a diff shows what has changed and not what has moved.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import partial

_VALUE = re.compile(r"(?<![\w.])%(\d+)|^(\d+)(?=:)")
_DEFINED_VALUE = re.compile(r"^  %(\d+) =|^(\d+):")
_NODE = re.compile(r"([!#]\d+)\b")
_DEFINED_NODE = re.compile(r"^(?:attributes )?([!#]\d+) =")
_FUNCTION = re.compile(r'^define .*?@("[^"]*"|[^(]*)\(')

# Comparing takes time by the product of the numbers of lines; 4 million are about a second.
_MAX_COMPARISONS = 4_000_000


def renumbered(before: str, after: str) -> str:
    """Returns a program with the numbers of another version of it.

    Args:
        before: The program as textual IR.
        after: The other version.

    Returns:
        ``before`` with other numbers of values, metadata and groups of attributes. Values that
        have no counterpart are called ``%old7``.
    """
    functions = dict(_parts(after.splitlines()))
    nodes = _numbers_of_nodes(before, after)
    lines: list[str] = []
    for name, part in _parts(before.splitlines()):
        values = _numbers(part, functions.get(name, []), _VALUE, _DEFINED_VALUE) if name else {}
        for line in part:
            if name:
                line = _VALUE.sub(partial(_renamed, values), line)
            lines.append(_NODE.sub(lambda match: nodes.get(match[1], match[1]), line))
    return "\n".join(lines)


def _parts(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the functions of a program by name, and what is between them by the name ""."""
    part: list[str] = []
    name = ""
    for line in lines:
        if found := _FUNCTION.match(line):
            yield "", part
            name, part = found[1], []
        part.append(line)
        if name and line == "}":
            yield name, part
            name, part = "", []
    yield name, part


def _numbers_of_nodes(before: str, after: str) -> dict[str, str]:
    """Returns the new numbers of metadata and of groups of attributes, where they are the same."""
    old = [line for line in before.splitlines() if _DEFINED_NODE.match(line)]
    new = [line for line in after.splitlines() if _DEFINED_NODE.match(line)]
    return _numbers(old, new, _NODE, _DEFINED_NODE)


def _numbers(
    old: list[str], new: list[str], reference: re.Pattern[str], definition: re.Pattern[str]
) -> dict[str, str]:
    """Returns the new number of each old one that is defined by the same line in both lists."""
    if not old or not new or len(old) * len(new) > _MAX_COMPARISONS:
        return {}
    masked_old, masked_new = (
        [_NODE.sub("", _VALUE.sub("", line.partition("; preds =")[0])) for line in lines]
        for lines in (old, new)
    )
    numbers: dict[str, str] = {}
    for block in SequenceMatcher(
        None, masked_old, masked_new, autojunk=False
    ).get_matching_blocks():
        for i in range(block.size):
            pair = old[block.a + i], new[block.b + i]
            if pair[0].startswith("define "):
                parameters = [[each[1] for each in reference.finditer(line)] for line in pair]
                numbers.update(zip(*parameters, strict=True))
                # The first block has the next number, and no label.
                numbers[str(len(parameters[0]))] = str(len(parameters[1]))
            elif (first := definition.match(pair[0])) and (second := definition.match(pair[1])):
                numbers[_number(first)] = _number(second)
    return numbers


def _number(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()))


def _renamed(numbers: dict[str, str], match: re.Match[str]) -> str:
    number = _number(match)
    name = numbers.get(number, f"old{number}")
    return f"%{name}" if match[1] else name
