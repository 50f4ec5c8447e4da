"""No modules of the package import each other in a circle.

Imports for type checkers and inside of functions count too: a circle of these does not stop Python,
but it stops a reader who wants to understand one module without all others.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from compiler_gym.util.runfiles_path import runfiles_path


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path: Path, package: str) -> Iterator[str]:
    """Yields the full name of everything that a module imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            base = above[: len(above) + 1 - node.level] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def import_graph(folder: Path) -> networkx.DiGraph:
    """The modules of a package, each with an arrow to every module that it imports."""
    paths = {module_name(path, folder.parent): path for path in folder.rglob("*.py")}
    graph = networkx.DiGraph()
    graph.add_nodes_from(paths)
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for imported in imported_names(path, package):
            # What is imported is a module, or else something in one.
            target = imported if imported in paths else imported.rpartition(".")[0]
            if target in paths:
                graph.add_edge(name, target)
    return graph


def circles(graph: networkx.DiGraph) -> list[str]:
    """One circle of each set of modules that reach each other, in words."""
    found = []
    for modules in networkx.strongly_connected_components(graph):
        if len(modules) > 1:
            steps = networkx.find_cycle(graph.subgraph(sorted(modules)))
            found.append(" -> ".join([step[0] for step in steps] + [steps[0][0]]))
    return found


def test_package():
    graph = import_graph(runfiles_path("compiler_gym"))
    # The whole package was read, and arrows lead from the top to the bottom of it.
    assert networkx.has_path(
        graph, "compiler_gym.envs.llvm.llvm_env", "compiler_gym.service.transport.frames"
    )
    assert circles(graph) == []


@pytest.mark.parametrize(
    "back",
    [
        "import package.folder.one",
        "from package.folder import one",
        "from package.folder.one import anything",
        "from .folder import one",
        "from .folder.one import anything",
        "def function():\n    from package.folder.one import anything",
        "if TYPE_CHECKING:\n    from package.folder.one import anything",
    ],
)
def test_circles_are_found(back, tmp_path):
    folder = tmp_path / "package"
    (folder / "folder").mkdir(parents=True)
    (folder / "__init__.py").write_text("from package.two import anything")
    (folder / "two.py").write_text(back)
    (folder / "folder" / "one.py").write_text("from ..three import anything")
    (folder / "three.py").write_text("")
    assert circles(import_graph(folder)) == []
    (folder / "three.py").write_text("from package import two")
    (circle,) = circles(import_graph(folder))
    assert sorted(set(circle.split(" -> "))) == [
        "package.folder.one",
        "package.three",
        "package.two",
    ]
