"""Finds the texts of attributes and values for the API reference.

Classes describe their attributes in the section ``Attributes:`` of their docstrings. The reference
shows each text once, at the attribute, with its type. A value that a package exports has its text
as a ``#:`` comment in the module that defines it.
"""

import re
import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

_ENTRY = re.compile(r"(\*{0,2}\w+)(?: \([^)]*\))?: (.*)")
_DOCUMENT = re.compile(r"``docs/([\w/.-]+)\.md``")
_TYPES = (bool, bytes, dict, float, int, list, set, str, tuple)
_TEXTS_OF_TYPES = {" ".join((kind.__doc__ or "").split()) for kind in _TYPES}


def setup(app: Sphinx) -> dict[str, bool]:
    """Connects the functions below, in front of napoleon, which rewrites docstrings."""
    app.connect("autodoc-process-docstring", add_missing_text, priority=100)
    return {"parallel_read_safe": True}


def add_missing_text(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Gives an attribute or value without a text of its own that of its class or module."""
    text = " ".join(" ".join(lines).split())
    if what in ("data", "attribute", "property") and _is_about_type(text):
        lines.clear()
    if what in ("class", "exception"):
        for base in obj.__mro__:
            give_texts_to_attributes(base)
        lines[:] = without_entries(lines, members_shown(obj))
    elif what == "data" and not any(lines):
        lines[:] = text_of_value(name.rpartition(".")[2], obj)
    lines[:] = [_DOCUMENT.sub(r":doc:`/\1`", line) for line in lines]


def _is_about_type(text: str) -> bool:
    """Returns true for the texts that autodoc takes from the type of a value, or of a field."""
    return text in _TEXTS_OF_TYPES or re.fullmatch(r"Alias for field number \d+", text) is not None


def members_shown(kind: type) -> set[str]:
    """Returns the attributes that autodoc lists below a class by themselves."""
    names = {*vars(kind).get("__annotations__", {}), *vars(kind)}
    if analyzer := analysis_of(kind.__module__):
        names |= {name for owner, name in analyzer.annotations if owner == kind.__qualname__}
    return {name for name in names if not name.startswith("_")}


def give_texts_to_attributes(kind: type) -> None:
    """Hands the entries of a docstring to autodoc, as if they were comments at the attributes."""
    own = vars(kind).get("__doc__") or ""
    fields = getattr(kind, "model_fields", {})  # Pydantic has the texts in its fields.
    texts = {name: field.description for name, field in fields.items() if field.description}
    texts |= {**entries(own.splitlines(), "Args:"), **entries(own.splitlines(), "Attributes:")}
    analyzer = analysis_of(kind.__module__)
    comments = analyzer.attr_docs if analyzer else {}
    for name in members_shown(kind) & texts.keys():
        comments.setdefault((kind.__qualname__, name), [texts[name], ""])


def analysis_of(module: str) -> ModuleAnalyzer | None:
    """Returns the comments and annotations of a module, which autodoc reads, too."""
    try:
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.analyze()
    except PycodeError:
        return None
    return analyzer


def text_of_value(name: str, value: Any) -> list[str]:
    """Returns the comment of a value in the module that defines it."""
    for module in sorted(name for name in sys.modules if name.startswith("compiler_gym")):
        if vars(sys.modules[module]).get(name) is value:
            analyzer = analysis_of(module)
            if analyzer and (text := analyzer.attr_docs.get(("", name))):
                return text
    return []


def entries(lines: list[str], heading: str) -> dict[str, str]:
    """Returns the entries of a section of a docstring, each in one line."""
    begin, end = section(lines, heading)
    found: dict[str, str] = {}
    current = ""
    margin = indent(lines[begin]) if begin < end else 0
    for line in lines[begin:end]:
        match = _ENTRY.match(line.strip()) if indent(line) == margin else None
        if match:
            current = match[1]
            found[current] = match[2]
        elif current:
            found[current] = f"{found[current]} {line.strip()}".strip()
    return found


def without_entries(lines: list[str], names: set[str]) -> list[str]:
    """Returns a docstring without those attributes in its section that have the given names."""
    begin, end = section(lines, "Attributes:")
    if begin == end:
        return lines
    kept, keep = [], True
    margin = indent(lines[begin])
    for line in lines[begin:end]:
        if line.strip() and indent(line) == margin:
            match = _ENTRY.match(line.strip())
            keep = match is None or match[1] not in names
        if keep:
            kept.append(line)
    heading = [lines[begin - 1]] if any(map(str.strip, kept)) else []
    return [*lines[: begin - 1], *heading, *kept, "", *lines[end:]]


def section(lines: list[str], heading: str) -> tuple[int, int]:
    """Returns the first line of a section, after its heading, and the line after its last."""
    for number, line in enumerate(lines):
        if line.strip() == heading:
            end = number + 1
            while end < len(lines) and (
                not lines[end].strip() or indent(lines[end]) > indent(line)
            ):
                end += 1
            return number + 1, end
    return 0, 0


def indent(line: str) -> int:
    """Returns the number of spaces in front of a line."""
    return len(line) - len(line.lstrip())
