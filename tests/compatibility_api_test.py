"""docs/compatibility-api.md is true: names are where it says, as it says, and are used in tests."""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from compiler_gym.util.runfiles_path import runfiles_path

TEXT = runfiles_path("docs/compatibility-api.md").read_text(encoding="utf-8")

# Name(argument, argument), which the table may also have without arguments.
_ENTRY = re.compile(r"(?P<path>[\w.]+)(?:\((?P<arguments>[\w, ]*)\))?")


class Row(NamedTuple):
    entry: str
    module: str
    test: str


def rows() -> Iterator[Row]:
    """Each row of the tables, once for each module that a name is imported from."""
    for line in TEXT.splitlines():
        if line.startswith("| `"):
            cells = re.split(r" \| ?", line.strip("| "), maxsplit=3)
            entry, modules, test = (re.findall("`([^`]*)`", cell) for cell in cells[:3])
            yield from (Row(*entry, module, *test) for module in modules)


ROWS = list(rows())


def find(row: Row) -> Any:
    """Returns what a row is about; for attributes that only objects have, None."""
    path = _ENTRY.fullmatch(row.entry)["path"].split(".")
    value = importlib.import_module(row.module)
    for owner, name in zip([None, *path], path, strict=False):
        if owner and name not in dir(value) and is_documented(value, name):
            return None
        value = getattr(value, name)
    return value


def is_documented(kind: type, attribute: str) -> bool:
    """Whether a class says that its objects have an attribute, or has it as a field."""
    texts = (inspect.getdoc(base) or "" for base in kind.__mro__)
    fields = getattr(kind, "model_fields", {})
    return attribute in fields or any(re.search(rf"^ +{attribute}: ", t, re.M) for t in texts)


def test_the_table_was_read():
    assert len(ROWS) > 300
    assert (
        Row("Scalar(name, min, max, dtype)", "compiler_gym.spaces", "tests/spaces/scalar_test.py")
        in ROWS
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.module}:{row.entry.split('(')[0]}")
def test_row(row):
    value = find(row)
    arguments = _ENTRY.fullmatch(row.entry)["arguments"]
    if arguments is not None:
        # Of a function of a class, the first is the object.
        names = [name for name in inspect.signature(value).parameters if name != "self"]
        expected = arguments.split(", ")
        assert names[: len(expected)] == expected
        kinds = [inspect.signature(value).parameters[name].kind for name in expected]
        assert inspect.Parameter.KEYWORD_ONLY not in kinds


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.module}:{row.entry.split('(')[0]}")
def test_row_has_a_test(row):
    text = runfiles_path(row.test).read_text(encoding="utf-8")
    name = _ENTRY.fullmatch(row.entry)["path"].rpartition(".")[2]
    # Python calls these by other signs.
    assert name.startswith("__") or re.search(rf"\b{name}\b", text)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("compiler_gym.service", "CompilationSession"),
        ("compiler_gym.service", "runtime"),
        ("compiler_gym.envs.llvm.datasets", "JotaiBenchRunnableDataset"),
    ],
)
def test_what_is_not_there_yet_is_not(module, name):
    """So that the list of what is missing does not outlive its truth."""
    assert f"`{name}`" in TEXT or f"`{module}.{name}`" in TEXT
    assert not hasattr(importlib.import_module(module), name)
