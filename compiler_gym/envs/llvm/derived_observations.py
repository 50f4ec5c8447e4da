"""The observations of the LLVM environments that are computed from others in this process."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compiler_gym.envs.llvm.inst2vec import EMBEDDING_SIZE, default_encoder
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES, INST_COUNT_FEATURE_NAMES
from compiler_gym.spaces import Box, Dict, Scalar, SpaceSequence
from compiler_gym.spaces import Sequence as SequenceSpace

if TYPE_CHECKING:
    import networkx


# Tokens of textual IR, from the observation ``LexedIr``.


class LexedToken(NamedTuple):
    """A token of textual IR.

    Attributes:
        ID: The number of its kind in LLVM's lexer; 0 is ``Eof``, 1 is ``Error``.
        kind: The name of its kind in LLVM's lexer, e.g. ``"kw_define"`` or ``"GlobalVar"``.
        category: ``"marker"``, ``"keyword"`` (also punctuation), ``"uintval"``, ``"strval"``,
            ``"type"``, ``"apfloat"``, ``"apsint"`` or ``"unknown"``.
        value: The token as it is written.
    """

    ID: int
    kind: str
    category: str
    value: str


def lexed_ir_tuple(lexed_ir: Mapping[str, np.ndarray]) -> list[LexedToken]:
    """Turns the four arrays of ``LexedIr`` into a list with one element for each token."""
    columns = (lexed_ir[f"token_{name}"] for name in ("id", "kind", "category", "value"))
    return list(map(LexedToken, *(column.tolist() for column in columns)))


# ProGraML graphs: what ``Programl`` and ``ProgramlJson`` make of ``ProgramlPacked``.

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


_COUNT_NAMES = tuple(f"{name}Count" for name in INST_COUNT_FEATURE_NAMES)
# The total of instructions, which the others are divided by, is left out.
_DENSITY_NAMES = tuple(f"{name}Density" for name in INST_COUNT_FEATURE_NAMES[1:])


def inst_count_dict(counts: np.ndarray) -> dict[str, int]:
    """Names the elements of the InstCount vector: int64[70] to ``{"TotalInstsCount": ...}``."""
    return dict(zip(_COUNT_NAMES, counts.tolist(), strict=True))


def inst_count_norm(counts: np.ndarray) -> np.ndarray:
    """Divides the InstCount vector by its first element, the number of instructions.

    Args:
        counts: int64[70].

    Returns:
        float32[69], for all elements but the first, in the range 0 to 1. The share of functions,
        which alone can be greater, is 1 if there are more functions than instructions. Zeros if
        there are no instructions.
    """
    total = max(int(counts[0]), 1)
    return np.minimum(counts[1:] / total, 1).astype(np.float32)


def inst_count_norm_dict(densities: np.ndarray) -> dict[str, float]:
    """Names the elements of InstCountNorm: float32[69] to ``{"TotalBlocksDensity": ...}``."""
    return dict(zip(_DENSITY_NAMES, densities.tolist(), strict=True))


def autophase_dict(features: np.ndarray) -> dict[str, int]:
    """Names the elements of the Autophase vector: int64[56] to ``{"BBNumArgsHi": ...}``."""
    return dict(zip(AUTOPHASE_FEATURE_NAMES, features.tolist(), strict=True))


def inst2vec_statements(packed: Mapping[str, Any]) -> list[str]:
    """Returns the statements in a value of Inst2vecPacked, one for each instruction."""
    return default_encoder().unpack(packed)


def inst2vec_indices(statements: Sequence[str]) -> np.ndarray:
    """Returns the index of each statement in the vocabulary of inst2vec: int32[n]."""
    return default_encoder().encode(statements)


def inst2vec_embeddings(indices: np.ndarray) -> np.ndarray:
    """Returns the embedding of each index in the vocabulary of inst2vec: float32[n, 200]."""
    return default_encoder().embed(indices)


def programl(packed: Mapping[str, Any]) -> "networkx.MultiDiGraph[Any]":
    """Returns the graph in a value of ProgramlPacked."""
    return program_graph(unpack(packed))


def programl_json(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the node-link data of the graph in a value of ProgramlPacked."""
    return program_graph_json(unpack(packed))


def derived_observation_spaces() -> list[dict[str, Any]]:
    """Returns the arguments of ``ObservationView.add_derived_space`` for each observation."""
    return [*_derived_counts(), *_derived_graphs(), *_derived_texts()]


def _derived_counts() -> list[dict[str, Any]]:
    return [
        {
            "id": "InstCountDict",
            "base_id": "InstCount",
            "translate": inst_count_dict,
            "space": _dict_space("InstCountDict", _COUNT_NAMES, dtype=np.int64),
        },
        {
            "id": "InstCountNorm",
            "base_id": "InstCount",
            "translate": inst_count_norm,
            "space": Box(
                low=0, high=1, shape=(len(_DENSITY_NAMES),), dtype=np.float32, name="InstCountNorm"
            ),
        },
        {
            "id": "InstCountNormDict",
            "base_id": "InstCountNorm",
            "translate": inst_count_norm_dict,
            "space": _dict_space("InstCountNormDict", _DENSITY_NAMES, dtype=np.float64, max=1.0),
        },
        {
            "id": "AutophaseDict",
            "base_id": "Autophase",
            "translate": autophase_dict,
            "space": _dict_space("AutophaseDict", AUTOPHASE_FEATURE_NAMES, dtype=np.int64),
        },
    ]


def _derived_graphs() -> list[dict[str, Any]]:
    # The service computes these too, as JSON, for clients of other kinds. That takes much longer
    # to send and to read.
    return [
        {
            "id": name,
            "base_id": "ProgramlPacked",
            "translate": translate,
            "space": SequenceSpace(name=name, opaque_data_format=opaque_data_format),
        }
        for name, translate, opaque_data_format in (
            ("Programl", programl, "json://networkx/MultiDiGraph"),
            ("ProgramlJson", programl_json, "json://"),
        )
    ]


def _derived_texts() -> list[dict[str, Any]]:
    embedding = Box(low=-np.inf, high=np.inf, shape=(EMBEDDING_SIZE,), dtype=np.float32)
    return [
        {
            "id": "Inst2vecPreprocessedText",
            "base_id": "Inst2vecPacked",
            "translate": inst2vec_statements,
            "space": SpaceSequence("Inst2vecPreprocessedText", SequenceSpace(dtype=str)),
            "default_value": [],
        },
        {
            "id": "Inst2vecEmbeddingIndices",
            "base_id": "Inst2vecPreprocessedText",
            "translate": inst2vec_indices,
            "space": SequenceSpace(
                name="Inst2vecEmbeddingIndices",
                dtype=np.int32,
                scalar_range=Scalar(min=0, dtype=np.int32),
            ),
            "make_default": _unknown_index,
        },
        {
            "id": "Inst2vec",
            "base_id": "Inst2vecEmbeddingIndices",
            "translate": inst2vec_embeddings,
            "space": SequenceSpace(name="Inst2vec", dtype=embedding),
        },
        {
            "id": "LexedIrTuple",
            "base_id": "LexedIr",
            "translate": lexed_ir_tuple,
            "space": SequenceSpace(name="LexedIrTuple", dtype=LexedToken),
            "default_value": [],
        },
    ]


def _unknown_index() -> np.ndarray:
    return np.array([default_encoder().vocabulary.unknown], dtype=np.int32)


def _dict_space(
    name: str, keys: Sequence[str], dtype: type[np.generic], max: float | None = None
) -> Dict:
    scalar = Scalar(min=0, max=max, dtype=dtype)
    return Dict({key: _renamed(scalar, key) for key in keys}, name=name)


def _renamed(scalar: Scalar, name: str) -> Scalar:
    """Returns a copy, which takes a hundredth of the time to make a space."""
    renamed = copy(scalar)
    renamed.name = name
    return renamed
