"""ProGraML graphs: what ``Programl`` and ``ProgramlJson`` make of ``ProgramlPacked``."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import networkx

Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GraphLists:
    """A graph as lists, which are faster to read one by one than arrays.

    Attributes:
        node_type, node_function, node_block, node_text, full_texts: One element for each node; as
            in ``ProgramlArrays``.
        edge_source, edge_target, edge_flow, edge_position: One element for each edge, too.
        edge_key: For each edge, how many edges with the same ends are before it.
        texts: What ``node_text`` is the index in.
        attributes: Those of the whole graph.
    """

    node_type: Sequence[int]
    node_function: Sequence[int]
    node_block: Sequence[int]
    node_text: Sequence[int]
    full_texts: Sequence[str]
    edge_source: Sequence[int]
    edge_target: Sequence[int]
    edge_flow: Sequence[int]
    edge_position: Sequence[int]
    edge_key: Sequence[int]
    texts: Sequence[str]
    attributes: dict[str, Any]


def unpack(packed: Arrays) -> GraphLists:
    """Reads the value of ``ProgramlPacked``.

    Raises:
        ValueError: It is malformed.
    """
    nodes, edges = _rows(packed["nodes"], 4), _rows(packed["edges"], 5)
    full_texts = packed["full_texts"].split("\0") if nodes[0] else []
    attributes = _graph_attributes(packed, nodes[0])
    fields: list[Any] = [*nodes, full_texts, *edges, packed["text"].tolist(), attributes]
    return GraphLists(*fields)


def _rows(data: np.ndarray, count: int) -> list[list[int]]:
    return data.view("<i4").reshape(count, data.size // (4 * count)).tolist()


def _graph_attributes(packed: Arrays, nodes: Sequence[int]) -> dict[str, Any]:
    if not nodes:
        return {}
    module = {
        "llvm_data_layout": packed["data_layout"],
        "llvm_target_triple": packed["target_triple"],
        "name": packed["module_name"],
    }
    functions = [{"module": 0, "name": name} for name in packed["function_name"].tolist()]
    return {"function": functions, "module": [module]}


def program_graph(lists: GraphLists) -> "networkx.MultiDiGraph[Any]":
    """Makes a graph of networkx.

    Returns:
        A graph with the nodes 0 to (number of nodes - 1), which equals others by its contents.
        Its attributes are those of node-link JSON, see :func:`program_graph_json`. Edges with the
        same ends have the keys 0, 1, 2, ...

    Raises:
        IndexError, ValueError: The lists do not fit together.
    """
    # Takes long to import.
    from compiler_gym.util.comparable_graph import ComparableGraph

    with _without_garbage_collection():
        graph: Any = ComparableGraph(**lists.attributes)
        nodes = _node_attributes(lists)
        successors: list[dict[int, Any]] = [{} for _ in nodes]
        predecessors: list[dict[int, Any]] = [{} for _ in nodes]
        for source, target, flow, position, key in _edges(lists):
            # Written twice, as all that is done for each edge counts.
            if key:
                successors[source][target][key] = {"flow": flow, "position": position}
            else:
                successors[source][target] = predecessors[target][source] = {
                    0: {"flow": flow, "position": position}
                }
        # The library's own add_edges_from() takes five times as long. These are the dictionaries
        # that it documents: attributes by node, and by node and neighbour and key.
        numbers = range(len(nodes))
        graph._node.update(zip(numbers, nodes, strict=True))
        graph._succ.update(zip(numbers, successors, strict=True))
        graph._pred.update(zip(numbers, predecessors, strict=True))
    return graph


def program_graph_json(lists: GraphLists) -> dict[str, Any]:
    """Makes node-link data, as of ``networkx.node_link_data``.

    Returns:
        A dictionary with the keys:

        * ``directed`` and ``multigraph``: True;
        * ``graph``: the dictionary ``{"function": [{"name", "module"}, ...], "module": [{"name",
          "llvm_target_triple", "llvm_data_layout"}]}``, empty if there is no program;
        * ``nodes``: dictionaries with ``id``, ``block``, ``function``, ``text``, ``type`` and, but
          for node 0, ``features``;
        * ``links``: dictionaries with ``source``, ``target``, ``key``, ``flow`` and ``position``.
    """
    with _without_garbage_collection():
        links = [
            {"flow": flow, "key": key, "position": position, "source": source, "target": target}
            for source, target, flow, position, key in _edges(lists)
        ]
        nodes = _node_attributes(lists)
        for number, node in enumerate(nodes):
            node["id"] = number
    return {
        "directed": True,
        "graph": lists.attributes,
        "links": links,
        "multigraph": True,
        "nodes": nodes,
    }


def _node_attributes(lists: GraphLists) -> list[dict[str, Any]]:
    nodes = [
        {
            "block": block,
            "features": {"full_text": [full_text]},
            "function": function,
            "text": text,
            "type": kind,
        }
        for block, full_text, function, text, kind in zip(
            lists.node_block,
            lists.full_texts,
            lists.node_function,
            map(lists.texts.__getitem__, lists.node_text),
            lists.node_type,
            strict=True,
        )
    ]
    if nodes:
        del nodes[0]["features"]  # Code that is not in the program has no text.
    return nodes


def _edges(lists: GraphLists) -> Iterator[tuple[int, int, int, int, int]]:
    return zip(
        lists.edge_source,
        lists.edge_target,
        lists.edge_flow,
        lists.edge_position,
        lists.edge_key,
        strict=True,
    )


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Keeps Python from looking for garbage among hundreds of thousands of new dictionaries."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
