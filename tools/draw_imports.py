"""Draws the imports between the folders of the Python package: docs/pictures/imports.svg.

Usage: ``python -m tools.draw_imports``. Needs ``dot`` of Graphviz: ``apt-get install graphviz``.
"""

import html
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import networkx

from tools.import_graph import import_graph

ROOT = Path(__file__).absolute().parents[1]
PACKAGE = "compiler_gym"
PICTURE = ROOT / "docs/pictures/imports.svg"

#: The boxes of the picture, from top to bottom. A box is a folder or module, or several of them. It
#: has the modules of its folders, except those that have a box of their own.
LAYERS = (
    ("leaderboard",),
    (
        "compat, bin, third_party, random_agents, random_search, util/flags, "
        "util/minimize_trajectory",
    ),
    ("cli, __main__",),
    ("agents, openenv", "mine", "compliance"),
    ("explorer", "evaluation", "tuning", "hunt"),
    ("vector", "distributed", "validate"),
    ("tuning/policies",),
    ("wrappers", "envs/gcc, envs/mlir"),
    ("envs/llvm",),
    ("service",),
    ("envs, util/registration",),
    ("*.py", "views"),
    ("datasets, compat/dataset_functions",),
    ("service/proto",),
    ("spaces", "util"),
    ("compat/classic_gym/spaces, compat/former_arguments, compat/legacy_actions", "errors"),
)

# The modules that name everything for users. Nothing but programs imports the first.
_ALL_NAMES = PACKAGE
_NAMES_OF_ENVIRONMENTS = f"{PACKAGE}.envs"

_STYLE = """
  graph [ranksep=0.28, nodesep=0.35];
  node [shape=box, style="rounded,filled", fillcolor="#eef3f6", color="#7d8790",
        fontname="DejaVu Sans", fontsize=12, fontcolor="#22303a", height=0.34, margin="0.14,0.05"];
  edge [color="#7d8790", arrowsize=0.6];
"""
_BACK = 'color="#e07a1f", penwidth=1.4, constraint=false'


def box_edges(modules: networkx.DiGraph) -> networkx.DiGraph:
    """Returns the imports between boxes.

    Args:
        modules: The imports between modules.

    Returns:
        A graph whose edges have ``is_back``, true if they lead to the same or a higher layer. None
        of the package does. An edge down is left out if a path of other edges down leads from its
        begin to its end.
    """
    depths = {box: depth for depth, boxes in enumerate(LAYERS) for box in boxes}
    down, back = networkx.DiGraph(), networkx.DiGraph()
    for box in depths:
        down.add_node(box)
    for module, target in modules.edges:
        if _ALL_NAMES in (module, target) or module == _NAMES_OF_ENVIRONMENTS:
            continue
        begin, end = _box_of(module), _box_of(target)
        if begin != end:
            (down if depths[begin] < depths[end] else back).add_edge(begin, end)
    edges = networkx.DiGraph()
    edges.add_edges_from(networkx.transitive_reduction(down).edges, is_back=False)
    edges.add_edges_from(back.edges, is_back=True)
    return edges


def _box_of(module: str) -> str:
    parts = module.split(".")[1:]
    if parts[-1:] == ["__main__"]:
        return _BOXES["__main__"]  # Programs, which ``python -m`` runs.
    folders = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((_BOXES[folder] for folder in folders if folder in _BOXES), "*.py")


_BOXES = {folder: box for boxes in LAYERS for box in boxes for folder in box.split(", ")}


def drawn_edges(picture: str) -> set[tuple[str, str]]:
    """Returns the edges of a picture, from the titles that ``dot`` writes."""
    titles = re.findall(r'class="edge">\s*<title>(.*?)</title>', picture)
    begin_and_end = (html.unescape(title).split("->") for title in titles)
    return {(begin, end) for begin, end in begin_and_end}


def _description(edges: networkx.DiGraph) -> Iterator[str]:
    """Yields the lines of the picture in the language of Graphviz."""
    yield "digraph imports {" + _STYLE
    for depth, boxes in enumerate(LAYERS):
        yield f'  {{rank=same; layer{depth} [style=invis, label="", width=0]; '
        yield " ".join(f'"{box}";' for box in boxes) + "}"
    layers = " -> ".join(f"layer{depth}" for depth in range(len(LAYERS)))
    yield f"  {layers} [style=invis];"
    for begin, end in sorted(edges.edges):
        style = _BACK if edges.edges[begin, end]["is_back"] else ""
        yield f'  "{begin}" -> "{end}" [{style}];'
    yield "}"


def main() -> None:
    """Draws the picture."""
    text = "\n".join(_description(box_edges(import_graph(ROOT / PACKAGE))))
    done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, check=True, text=True)
    PICTURE.write_text(re.sub(r"<!--.*?-->\n", "", done.stdout, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
