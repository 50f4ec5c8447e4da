"""Graphs of networkx that can be compared. The import of networkx is slow."""

from typing import TYPE_CHECKING, Any

import networkx

if TYPE_CHECKING:
    _Graph = networkx.MultiDiGraph[Any]
else:  # At run time, the class takes no parameters.
    _Graph = networkx.MultiDiGraph


class ComparableGraph(_Graph):
    """A ``networkx.MultiDiGraph`` that equals those with the same nodes, edges and attributes."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, networkx.MultiDiGraph):
            return NotImplemented
        return networkx.utils.graphs_equal(self, other)

    def __hash__(self) -> int:
        """Returns the same for equal graphs; it changes with the number of nodes and edges."""
        return hash((self.number_of_nodes(), self.number_of_edges()))
