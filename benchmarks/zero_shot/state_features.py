"""Features of programs that a network may see: Autophase, IR2Vec, or counts of parts of graphs."""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from compiler_gym.envs.llvm.graph_tensors import graph_tensors

_BUCKETS, _ROUNDS, _RELATIONS = 128, 2, 3


class Features(str, Enum):
    """Kinds of features."""

    AUTOPHASE = "autophase"
    IR2VEC = "ir2vec"
    GRAPH = "graph"


class Kind(NamedTuple):
    """An observation space, and the vector of its values.

    Attributes:
        space: The name of the observation space.
        vector: Returns float [n] for an observation and the number of instructions.
    """

    space: str
    vector: Callable[[Any, int], np.ndarray]


def graph_counts(graph: Any) -> np.ndarray:
    """Returns float [n], shares of nodes with like neighbours in a program graph.

    Each node begins with a label of its word. In each of two rounds, a node gets a new label from
    its own and those of its neighbours, as the Weisfeiler-Lehman kernel does (Shervashidze et al.,
    "Weisfeiler-Lehman Graph Kernels", JMLR 2011). Hashes of the labels choose what to count, so
    that the vectors of all programs have the same length.

    Args:
        graph: A value of ``ProgramlArrays``.
    """
    tensors = graph_tensors(graph)
    source, target = tensors["edge_index"]
    relation = tensors["edge_type"].astype(np.uint64)
    labels = _mixed((tensors["x"] * _RELATIONS + tensors["node_type"]).astype(np.uint64))
    counts = [_counted(labels)]
    for _ in range(_ROUNDS):
        received = _mixed(labels)
        np.add.at(received, target, _mixed(labels[source] + relation))
        np.add.at(received, source, _mixed(labels[target] + relation + np.uint64(_RELATIONS)))
        labels = _mixed(received)
        counts.append(_counted(labels))
    return np.concatenate(counts) / len(labels)


def _counted(labels: np.ndarray) -> np.ndarray:
    return np.bincount((labels % np.uint64(_BUCKETS)).astype(int), minlength=_BUCKETS)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Returns the hash of each number: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


KINDS = {
    Features.IR2VEC: Kind("Ir2vec", lambda vector, total: np.asarray(vector) / max(total, 1)),
    Features.GRAPH: Kind("ProgramlArrays", lambda graph, _: graph_counts(graph)),
}
"""The features that are observed only if a network sees them."""
