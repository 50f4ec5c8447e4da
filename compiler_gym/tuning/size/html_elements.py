"""HTML elements whose text and attributes are escaped, and numbers as people read them."""

import difflib
import io
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple
from xml.etree.ElementTree import Element, ElementTree

from compiler_gym.tuning.size.image import Instruction
from compiler_gym.util.truncate import shortened

Child = Element | str

_LONGEST_NAME = 56
_MINUS = "\N{MINUS SIGN}"


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: Child) -> Element:
    """Returns an element.

    Args:
        tag: Its name.
        attributes: Its attributes. Those that are None or empty are left out.
        *children: Elements and text, in order.
    """
    made = Element(tag)
    for name, value in (attributes or {}).items():
        if value is not None and value != "":
            made.set(name, str(value))
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            made.append(child)
            last = child
        elif last is None:
            made.text = (made.text or "") + child
        else:
            last.tail = (last.tail or "") + child
    return made


def html_of(elements: Sequence[Element]) -> str:
    """Returns elements as HTML; what is special in HTML is escaped."""
    output = io.StringIO()
    for each in elements:
        ElementTree(each).write(output, encoding="unicode", method="html")
        output.write("\n")
    return output.getvalue()


def visible(text: str) -> str:
    """Returns a text with escapes in place of characters that cannot be seen.

    Some of these, such as marks of direction, would change how the others are shown.
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def short_name(name: str) -> str:
    """Returns a name of a function of C++ without what is in brackets, if it is long."""
    if len(name) <= _LONGEST_NAME:
        return name
    kept, depth = "", 0
    for character in name:
        depth -= character in ")>"
        if depth == 0:
            kept += character
        elif depth == 1 and not kept.endswith("…"):
            kept += "…"
        depth += character in "(<"
    # Operators have brackets that are not in pairs.
    short = name
    if depth == 0 and "operator" not in name:
        # Without the type of what is returned.
        short = kept.partition("(…)")[0].rpartition(" ")[2]
    return shortened(short, _LONGEST_NAME)


def number(value: int) -> str:
    """Returns a number with a comma between thousands."""
    return signed(value).removeprefix("+")


def signed(value: float, decimals: int = 0) -> str:
    """Returns a number with its sign, if it has one, and a comma between thousands."""
    if not value:
        return f"{0:.{decimals}f}"
    return f"{value:+,.{decimals}f}".replace("-", _MINUS)


def change_of(before: float, after: float) -> str:
    """Returns how a number has changed, in percent."""
    if before == after:
        return "0.0 %"
    if not before:
        return "new"
    return f"{(after / before - 1) * 100:+.1f} %".replace("-", _MINUS)


def tone(before: float, after: float) -> str:
    """Returns the class of a number that should be small: ``less``, ``more`` or none."""
    return "less" if after < before else "more" if after > before else ""


def table(header: Sequence[str], rows: Sequence[Sequence[Element]], label: str) -> Element:
    """Returns a table that scrolls if it is too wide, by mouse and by keyboard.

    Args:
        header: The names of the columns. Those that begin with ``#`` are of numbers.
        rows: The cells of each row.
        label: What the table is about.
    """
    kinds = ("number" if name.startswith("#") else "" if name else "bar" for name in header)
    names = [
        element("th", {"scope": "col", "class": kind}, name.removeprefix("#"))
        for kind, name in zip(kinds, header, strict=True)
    ]
    body = element("tbody", None, *(element("tr", None, *cells) for cells in rows))
    made = element("table", None, element("thead", None, element("tr", None, *names)), body)
    return element(
        "div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label}, made
    )


def cell(*children: Child, kind: str = "") -> Element:
    """Returns a cell of a table, with a class."""
    return element("td", {"class": kind}, *children)


# Assembly before and after, side by side.

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
