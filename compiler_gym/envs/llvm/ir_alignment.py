"""Numbers of values in one version of a program, by those in another.

In textual IR values without names are numbered in their order, so a pass that takes away one
instruction renumbers all that follow. Here they keep the numbers of the other version as far as the
instructions are the same, so that a diff shows what has changed and not what has moved.
"""

import re
from collections.abc import Container, Iterable, Iterator
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
    parts = [*_parts(before.splitlines())]
    pairs = [_aligned(part, functions.get(name, [])) if name else [] for name, part in parts]
    nodes = _numbers_of_nodes(before, after, pairs)
    lines: list[str] = []
    for (name, part), same in zip(parts, pairs, strict=True):
        values = _numbers(same, _VALUE, _DEFINED_VALUE)
        for line in part:
            if name:
                line = _VALUE.sub(partial(_renamed, values), line)
            lines.append(_NODE.sub(lambda match: nodes.get(match[1], match[1]), line))
    return "\n".join(lines)


def _parts(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the functions of a program by name, and the text between them by the name ""."""
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


def _numbers_of_nodes(
    before: str, after: str, used: Iterable[Iterable[tuple[str, str]]]
) -> dict[str, str]:
    """Returns the new numbers of metadata and of groups of attributes, where they are the same.

    Definitions of many nodes look alike, such as those of loops. So the lines that use them count
    first, and only then the order of the definitions.
    """
    numbers: dict[str, str] = {}
    for old, new in (pair for pairs in used for pair in pairs):
        for each in zip(_NODE.findall(old), _NODE.findall(new), strict=True):
            numbers.setdefault(*each)
    rest = _definitions(before, {*numbers}), _definitions(after, {*numbers.values()})
    return numbers | _numbers(_aligned(*rest), _NODE, _DEFINED_NODE)


def _definitions(program: str, known: Container[str]) -> list[str]:
    """Returns the lines that define nodes, without those that are known."""
    defined = ((line, _DEFINED_NODE.match(line)) for line in program.splitlines())
    return [line for line, match in defined if match and match[1] not in known]


def _aligned(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Returns the pairs of lines that are the same but for numbers, in order."""
    if not old or not new or len(old) * len(new) > _MAX_COMPARISONS:
        return []
    masked_old, masked_new = (
        [_NODE.sub("", _VALUE.sub("", line.partition("; preds =")[0])) for line in lines]
        for lines in (old, new)
    )
    matcher = SequenceMatcher(None, masked_old, masked_new, autojunk=False)
    return [
        (old[block.a + i], new[block.b + i])
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    ]


def _numbers(
    pairs: Iterable[tuple[str, str]], reference: re.Pattern[str], definition: re.Pattern[str]
) -> dict[str, str]:
    """Returns the new number of each old one that is defined by the same line in both versions."""
    numbers: dict[str, str] = {}
    for pair in pairs:
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
