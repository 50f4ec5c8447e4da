"""ProGraML graphs: what ``Programl`` and ``ProgramlJson`` make of ``ProgramlArrays``."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx

Arrays = Mapping[str, Any]


def program_graph(arrays: Arrays) -> "networkx.MultiDiGraph":
    """Makes a graph of the value of ``ProgramlArrays``.

    Returns:
        A graph with the nodes 0 to (number of nodes - 1). Its attributes are those of node-link
        JSON, see :func:`program_graph_json`. Edges with the same ends have the keys 0, 1, 2, ...
    """
    import networkx  # Takes long to import.

    with _without_garbage_collection():
        graph = networkx.MultiDiGraph(**_graph_attributes(arrays))
        nodes = _node_attributes(arrays)
        successors: list[dict[int, Any]] = [{} for _ in nodes]
        predecessors: list[dict[int, Any]] = [{} for _ in nodes]
        for source, target, flow, position in _edges(arrays):
            attributes = {"flow": flow, "position": position}
            parallel = successors[source].get(target)
            if parallel is None:
                keys = {0: attributes}
                successors[source][target] = predecessors[target][source] = keys
            else:
                parallel[len(parallel)] = attributes
        # The library's own add_edges_from() takes four times as long. These are the dictionaries
        # that it documents: attributes by node, and by node and neighbour and key.
        graph._node.update(enumerate(nodes))
        graph._succ.update(enumerate(successors))
        graph._pred.update(enumerate(predecessors))
    return graph


def program_graph_json(arrays: Arrays) -> dict[str, Any]:
    """Makes node-link data, as of ``networkx.node_link_data``, of the value of ``ProgramlArrays``.

    Returns:
        A dictionary with the keys:

        * ``directed`` and ``multigraph``: True;
        * ``graph``: the dictionary ``{"function": [{"name", "module"}, ...], "module": [{"name",
          "llvm_target_triple", "llvm_data_layout"}]}``, empty if there is no program;
        * ``nodes``: dictionaries with ``id``, ``block``, ``function``, ``text``, ``type`` and, but
          for node 0, ``features``;
        * ``links``: dictionaries with ``source``, ``target``, ``key``, ``flow`` and ``position``.
    """
    links = []
    counts: dict[tuple[int, int], int] = {}
    with _without_garbage_collection():
        for source, target, flow, position in _edges(arrays):
            ends = (source, target)
            counts[ends] = key = counts.get(ends, -1) + 1
            links.append(
                {
                    "flow": flow,
                    "key": key,
                    "position": position,
                    "source": source,
                    "target": target,
                }
            )
        nodes = _node_attributes(arrays)
        for number, node in enumerate(nodes):
            node["id"] = number
    return {
        "directed": True,
        "graph": _graph_attributes(arrays),
        "links": links,
        "multigraph": True,
        "nodes": nodes,
    }


def _node_attributes(arrays: Arrays) -> list[dict[str, Any]]:
    texts = arrays["text"].tolist()
    nodes = [
        {
            "block": block,
            "features": {"full_text": [full_text]},
            "function": function,
            "text": texts[text],
            "type": kind,
        }
        for block, full_text, function, text, kind in zip(
            arrays["node_block"].tolist(),
            arrays["node_full_text"].tolist(),
            arrays["node_function"].tolist(),
            arrays["node_text"].tolist(),
            arrays["node_type"].tolist(),
            strict=True,
        )
    ]
    if nodes:
        del nodes[0]["features"]  # Code that is not in the program has no text.
    return nodes


def _edges(arrays: Arrays) -> Iterator[tuple[int, int, int, int]]:
    return zip(
        arrays["edge_source"].tolist(),
        arrays["edge_target"].tolist(),
        arrays["edge_flow"].tolist(),
        arrays["edge_position"].tolist(),
        strict=True,
    )


def _graph_attributes(arrays: Arrays) -> dict[str, list[dict[str, Any]]]:
    if not arrays["node_type"].size:
        return {}
    module = {
        "llvm_data_layout": arrays["data_layout"],
        "llvm_target_triple": arrays["target_triple"],
        "name": arrays["module_name"],
    }
    functions = [{"module": 0, "name": name} for name in arrays["function_name"].tolist()]
    return {"function": functions, "module": [module]}


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
