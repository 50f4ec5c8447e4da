"""No modules of the package import each other in a circle, and the picture of imports is true.

Imports for type checkers and inside of functions count too: a circle of these does not stop Python,
but it stops a reader who wants to understand one module without all others.
"""

import networkx
import pytest

from compiler_gym.envs import GccEnv, LlvmEnv, MlirEnv
from compiler_gym.util.runfiles_path import runfiles_path
from tools.draw_imports import LAYERS, box_edges, drawn_edges
from tools.import_graph import import_graph


def circles(graph: networkx.DiGraph) -> list[str]:
    """One circle of each set of modules that reach each other, in words."""
    found = []
    for modules in networkx.strongly_connected_components(graph):
        if len(modules) > 1:
            steps = networkx.find_cycle(graph.subgraph(sorted(modules)))
            found.append(" -> ".join([step[0] for step in steps] + [steps[0][0]]))
    return found


@pytest.fixture(scope="module")
def graph():
    return import_graph(runfiles_path("compiler_gym"))


def test_package(graph):
    # The whole package was read, and arrows lead from the top to the bottom of it.
    assert networkx.has_path(
        graph, "compiler_gym.envs.llvm.llvm_env", "compiler_gym.service.transport.frames"
    )
    assert circles(graph) == []


def test_picture(graph):
    """If this fails, run ``python -m tools.draw_imports``."""
    picture = runfiles_path("docs/pictures/imports.svg").read_text(encoding="utf-8")
    assert drawn_edges(picture) == set(box_edges(graph).edges)


def test_imports_lead_down(graph):
    """From box to box of LAYERS in tools/draw_imports.py; there is no list of exceptions."""
    edges = box_edges(graph).edges
    assert [edge for edge in edges if edges[edge]["is_back"]] == []


@pytest.mark.parametrize("env_class", [LlvmEnv, MlirEnv, GccEnv])
def test_few_classes_behind_an_environment(env_class):
    # Their readers open as many files. ``object`` is not counted.
    assert len(env_class.__mro__[:-1]) <= 5


def test_edges_of_the_picture():
    top, middle, bottom = "cli, __main__", "envs, util/registration", "errors"
    assert [box for boxes in LAYERS for box in boxes if box in (top, middle, bottom)] == [
        top,
        middle,
        bottom,
    ]
    graph = networkx.DiGraph()
    graph.add_edge("compiler_gym.cli.app", "compiler_gym.envs.compiler_env")
    graph.add_edge("compiler_gym.envs.compiler_env", "compiler_gym.errors")
    graph.add_edge("compiler_gym.cli.app", "compiler_gym.errors")  # Follows from the others.
    graph.add_edge("compiler_gym.envs", "compiler_gym.envs.compiler_env")  # The same box.
    graph.add_edge("compiler_gym", "compiler_gym.cli")  # What users import is left out.
    graph.add_edge("compiler_gym.errors", "compiler_gym.cli.app")
    edges = box_edges(graph)
    assert dict(edges.edges) == {
        (top, middle): {"is_back": False},
        (middle, bottom): {"is_back": False},
        (bottom, top): {"is_back": True},
    }


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
