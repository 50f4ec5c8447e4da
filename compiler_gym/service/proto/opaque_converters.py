"""Conversion of opaque values, whose format names their encoding."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compiler_gym.service.proto import Opaque
from compiler_gym.service.proto.conversion_error import ConversionError

if TYPE_CHECKING:
    import networkx


def _graph_from_json(data: bytes) -> "networkx.MultiDiGraph[Any]":
    """Returns the graph that node-link JSON describes.

    The library's own reader keeps only one of several links that have the same ends and key,
    which those between two statements of a program usually do. This one keeps all.
    """
    # Slow to import.
    from compiler_gym.util.comparable_graph import ComparableGraph

    document = json.loads(data)
    graph = ComparableGraph()
    try:
        graph.graph.update(document.get("graph", {}))
        for node in document["nodes"]:
            graph.add_nodes_from([(node.pop("id"), node)])
        # Recent versions of the library write "edges" instead of "links".
        for link in document["links"] if "links" in document else document["edges"]:
            source, target = link.pop("source"), link.pop("target")
            key = link.pop("key", None)
            is_taken = graph.has_edge(source, target, key)
            key = graph.add_edge(source, target, key=None if is_taken else key)
            graph.edges[source, target, key].update(link)
    except KeyError as error:
        raise ValueError(f"Malformed node-link JSON of a graph: there is no {error}") from None
    return graph


#: Functions that decode opaque data, by its format. Add an entry for a format of your own.
OPAQUE_FORMATS: dict[str, Callable[[bytes], Any]] = {
    "json://": json.loads,
    "json://networkx/MultiDiGraph": _graph_from_json,
}


def opaque_to_value(opaque: Opaque) -> Any:
    """Returns the value that a message holds.

    Raises:
        ConversionError: There is no decoder for its format in :data:`OPAQUE_FORMATS`.
        ValueError: The data is malformed.
    """
    decode = OPAQUE_FORMATS.get(opaque.format)
    if decode is None:
        raise ConversionError(
            f"There is no decoder for the format {opaque.format!r}. Add one to "
            "compiler_gym.service.proto.py_converters.OPAQUE_FORMATS"
        )
    return decode(opaque.data)
