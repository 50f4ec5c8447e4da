"""The imports between the modules of a Python package."""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx


def import_graph(folder: Path) -> networkx.DiGraph:
    """Returns the modules of a package, with an edge to every module that a module imports.

    Imports for type checkers and inside of functions count too.

    Args:
        folder: The folder of the package.
    """
    paths = {_module_name(path, folder.parent): path for path in folder.rglob("*.py")}
    graph = networkx.DiGraph()
    graph.add_nodes_from(sorted(paths))
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for imported in _imported_names(path, package):
            # A module, or else something in one.
            target = imported if imported in paths else imported.rpartition(".")[0]
            if target in paths:
                graph.add_edge(name, target)
    return graph


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_names(path: Path, package: str) -> Iterator[str]:
    """Yields the full name of everything that a module imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            base = above[: len(above) + 1 - node.level] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)
