"""docs/compatibility.md is true: names are where it says, as it says, and are used in tests.

Looks at the whole source tree, which it finds through the link to itself.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")

# Name(argument, argument), which the table may also have without arguments.
_ENTRY = re.compile(r"(?P<path>[\w.]+)(?:\((?P<arguments>[\w, ]*)\))?")


class Row(NamedTuple):
    """A row, once for each of its names and each place of the name.

    The place is a module to import it from, or a file that has it; "none" if it is not there.
    """

    entry: str
    place: str
    test: str
    difference: str


def rows() -> Iterator[Row]:
    for line in TEXT.splitlines():
        if line.startswith("| `"):
            entries, places, test, difference = re.split(r" \| ?", line[2:-1], maxsplit=3)
            for entry in re.findall("`([^`]*)`", entries):
                for place in re.findall("`([^`]*)`", places) or [places]:
                    yield Row(entry, place, test.strip("`"), difference.strip())


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def name_in(text: str, name: str) -> bool:
    """Returns true if a text has a name, or a flag that is written in one of the usual ways."""
    if name.startswith("--"):
        return bool(re.search(rf"""--(no)?{name[2:]}\b|["']{name[2:]}["']""", text))
    return bool(re.search(rf"\b{re.escape(name)}\b", text))


ROWS = [row for row in rows() if row.place != "none"]
ABSENT = [row for row in rows() if row.place == "none"]
IMPORTED = [row for row in ROWS if "/" not in row.place]
IN_FILES = [row for row in ROWS if "/" in row.place]


def row_id(row: Row) -> str:
    return f"{row.place}:{row.entry.split('(')[0]}"


def find(row: Row) -> Any:
    """Returns what a row is about; for attributes that only objects have, None."""
    path = _ENTRY.fullmatch(row.entry)["path"].split(".")
    value = importlib.import_module(row.place)
    if row.place == "compiler_gym.bin":
        return importlib.import_module(f"{row.place}.{row.entry}")
    for owner, name in zip([None, *path], path, strict=False):
        if owner and name not in dir(value) and is_documented(value, name):
            return None
        value = getattr(value, name)
    return value


def is_documented(kind: type, attribute: str) -> bool:
    """Returns true if a class says that its objects have an attribute, or has it as a field."""
    texts = (inspect.getdoc(base) or "" for base in kind.__mro__)
    fields = getattr(kind, "model_fields", {})
    return attribute in fields or any(
        re.search(rf"^ +(\w+, )*{attribute}(, \w+)*: ", text, re.M) for text in texts
    )


def test_the_tables_were_read():
    assert len(IMPORTED) > 400
    assert len(IN_FILES) > 90
    scalar = "tests/spaces/scalar_test.py"
    assert ("Scalar(name, min, max, dtype)", "compiler_gym.spaces", scalar, "") in ROWS
    assert [row for row in rows() if not row.place or not row.test] == []


def test_no_row_is_there_twice():
    found = [(row.entry.split("(")[0], row.place) for row in ROWS]
    assert sorted({row for row in found if found.count(row) > 1}) == []


@pytest.mark.parametrize("row", IMPORTED, ids=row_id)
def test_name(row):
    value = find(row)
    arguments = _ENTRY.fullmatch(row.entry)["arguments"]
    if arguments is not None:
        # Of a function of a class, the first is the object.
        names = [name for name in inspect.signature(value).parameters if name != "self"]
        expected = arguments.split(", ")
        assert names[: len(expected)] == expected
        kinds = [inspect.signature(value).parameters[name].kind for name in expected]
        assert inspect.Parameter.KEYWORD_ONLY not in kinds


@pytest.mark.parametrize("row", IN_FILES, ids=row_id)
def test_name_in_a_file(row):
    # Examples are called by the name of their file then.
    assert name_in(text_of(row.place), row.entry) or is_example(row)


def is_example(row: Row) -> bool:
    return f"| `{row.entry}` |" in TEXT.partition("\n## Examples\n")[2]


def test_the_tests_that_are_named_exist():
    missing = set()
    for path, _, function in {row.test.partition("::") for row in ROWS}:
        is_there = (ROOT / path).is_file() and (
            not function or re.search(rf"^def {function}\(", text_of(path), re.M)
        )
        if not is_there:
            missing.add(f"{path}::{function}")
    assert missing == set()


@pytest.mark.parametrize(
    "row", [row for row in IMPORTED if "Not there yet" in row.difference], ids=row_id
)
def test_mere_names_are_marked(row):
    with pytest.raises(NotImplementedError):
        find(row)()


@pytest.mark.parametrize("row", ABSENT, ids=row_id)
def test_absent_names_are_explained(row):
    assert row.test == "none"
    assert row.difference


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("compiler_gym.wrappers", "make_mlir_rl_wrapper_env"),
        ("compiler_gym.third_party.llvm", "llvm_extract_one_path"),
    ],
)
def test_absent_names_are_absent(module, name):
    """So that the list of what is missing does not outlive its truth."""
    assert f"`{name}`" in TEXT or f"`{module}.{name}`" in TEXT
    assert not hasattr(importlib.import_module(module), name)
