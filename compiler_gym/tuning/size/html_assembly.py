"""Assembly before and after, side by side."""

import difflib
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple
from xml.etree.ElementTree import Element

from compiler_gym.tuning.size.html_elements import element, number, visible
from compiler_gym.tuning.size.image import Instruction

_MAX_ROWS = 600
_MAX_COMPARED = 3000
_LABEL = re.compile(r"\bL\d+\b")


class Row(NamedTuple):
    """Instructions that stand side by side; None where there is none."""

    before: Instruction | None
    after: Instruction | None
    is_same: bool


def changed_lines(before: Sequence[Instruction], after: Sequence[Instruction]) -> list[Row]:
    """Puts the instructions of a function side by side, so that equal ones meet.

    Labels are numbered from the beginning of a function, and may differ in equal instructions.

    Args:
        before: The instructions before; only the first 3000 are compared.
        after: The instructions after.
    """
    old, new = before[:_MAX_COMPARED], after[:_MAX_COMPARED]
    texts, other_texts = ([_LABEL.sub("L", each.text) for each in side] for side in (old, new))
    matcher = difflib.SequenceMatcher(None, texts, other_texts)
    rows: list[Row] = []
    for tag, first, last, start, end in matcher.get_opcodes():
        pairs = zip_longest(old[first:last], new[start:end])
        rows += [Row(one, other, tag == "equal") for one, other in pairs]
    return rows


def assembly_of(rows: Sequence[Row]) -> list[Element]:
    """Returns a table of two columns of assembly, and a note if it has been cut."""
    names = [
        element("th", {"scope": "col", "class": kind}, name)
        for kind, name in (("size", ""), ("", "before"), ("size", ""), ("", "after"))
    ]
    head = element("thead", None, element("tr", None, *names))
    body = element("tbody", None, *map(_row, rows[:_MAX_ROWS]))
    made = [element("table", {"class": "asm"}, head, body)]
    rest = len(rows) - _MAX_ROWS
    if rest > 0:
        made.append(element("p", {"class": "soft"}, f"{number(rest)} further lines not shown."))
    return made


def _row(row: Row) -> Element:
    cells = (*_cells(row.before, "before"), *_cells(row.after, "after"))
    return element("tr", {"class": "same" if row.is_same else "change"}, *cells)


def _cells(instruction: Instruction | None, kind: str) -> list[Element]:
    size = "size new" if kind == "after" else "size"
    if instruction is None:
        return [element("td", {"class": size}), element("td", {"class": kind})]
    label = [element("b", None, f"{instruction.label}: ")] if instruction.label else []
    return [
        element("td", {"class": size}, str(instruction.size)),
        element("td", {"class": kind}, *label, visible(instruction.text)),
    ]
