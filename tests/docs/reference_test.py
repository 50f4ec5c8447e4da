"""Every public name has a page in the API reference, and a text there."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from docs.sphinx import reference_pages

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "compiler_gym"
PAGES = {**reference_pages.MODULES, **reference_pages.FURTHER_MODULES}

# The names of these are on other pages: options of commands, and messages of the protocol.
COMMANDS = "compiler_gym.bin."
MESSAGES = "compiler_gym.service.proto"


def modules_with_public_names() -> list[str]:
    """Returns the modules that declare their public names."""
    sources = ((path, path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    found = (path for path, text in sources if re.search(r"^__all__ = ", text, re.M))
    return sorted(map(module_name, found))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def documented_values() -> set[int]:
    """Returns the ids of the values that have a page, by whatever name."""
    modules = (module for module in PAGES if module not in reference_pages.NAMES)
    return {
        id(getattr(importlib.import_module(module), name))
        for module in modules
        for name in reference_pages.public_names(module)
    }


def names_without_page(modules: list[str]) -> Iterator[str]:
    documented = documented_values()
    for name in modules:
        module = importlib.import_module(name)
        for each in module.__all__:
            value = getattr(module, each)
            is_listed = name in PAGES or isinstance(value, ModuleType) or id(value) in documented
            if not is_listed and not each.startswith("__"):
                yield f"{name}.{each}"


def names_in_documents() -> Iterator[tuple[str, str]]:
    """Yields the modules and names that snippets of documents import."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for snippet in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S):
            for line in re.findall(r"^from compiler_gym[^\n(]*(?:\([^)]*\))?", snippet, re.M):
                statement = ast.parse(line).body[0]
                assert isinstance(statement, ast.ImportFrom)
                yield from ((statement.module or "", alias.name) for alias in statement.names)


def test_every_public_name_has_a_page():
    modules = modules_with_public_names()
    assert len(modules) > 40
    elsewhere = [name for name in modules if name.startswith(COMMANDS)]
    assert elsewhere
    missing = list(names_without_page([name for name in modules if name not in elsewhere]))
    assert [name for name in missing if not is_message(name)] == []


def is_message(name: str) -> bool:
    """Returns true if the page of the protocol has a message, or the service of the calls."""
    module, _, message = name.rpartition(".")
    protocol = (ROOT / "proto/compiler_gym_service.proto").read_text(encoding="utf-8")
    message = re.sub(r"^add_|(Servicer|Stub)(_to_server)?$", "", message)
    return (
        module == MESSAGES
        and re.search(rf"^(message|service) {message} ", protocol, re.M) is not None
    )


def test_commands_are_in_the_page_of_commands():
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    commands = [name for name in modules_with_public_names() if name.startswith(COMMANDS)]
    assert [name for name in commands if f"python -m {name}" not in text] == []


def test_every_imported_name_of_documents_has_a_page():
    documented = documented_values()
    explicit = {(module, name) for module, names in reference_pages.NAMES.items() for name in names}
    missing = set()
    for module, name in names_in_documents():
        if (module, name) in explicit or is_message(f"{module}.{name}"):
            continue
        value = value_of(module, name)
        if not isinstance(value, ModuleType) and id(value) not in documented:
            missing.add(f"{module}.{name}")
    assert missing == set()


def value_of(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    return (
        getattr(found, name)
        if hasattr(found, name)
        else importlib.import_module(f"{module}.{name}")
    )
