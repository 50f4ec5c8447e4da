"""Calls of functions as soon as a program imports a module, without an import of it here."""

import importlib.abc
import importlib.machinery
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

_Call = Callable[[ModuleType], None]

_calls: dict[str, list[_Call]] = defaultdict(list)


def when_imported(name: str, call: _Call) -> None:
    """Calls a function with a module: at once, or as soon as the module is imported.

    Args:
        name: The name of the module.
        call: The function. Called again if the module is loaded again.
    """
    if not _calls:
        # The first one, because the finders of Python find each module.
        sys.meta_path.insert(0, _Hook())
    _calls[name].append(call)
    module = sys.modules.get(name)
    # A module exists before it is complete.
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        call(module)


def by_name(module: str, function: str) -> _Call:
    """Returns a function that imports another one and calls it."""
    return lambda imported: getattr(import_module(module), function)(imported)


class _Hook(importlib.abc.MetaPathFinder):
    """Detects the import of modules. Other finders find them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _calls:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                _extend_loader(spec.loader, _calls[fullname])
                return spec
        return None


def _extend_loader(loader: Any, calls: list[_Call]) -> None:
    execute = loader.exec_module

    def execute_and_call(module: ModuleType) -> None:
        execute(module)
        for call in calls:
            call(module)

    loader.exec_module = execute_and_call
