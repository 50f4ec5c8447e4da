"""The observations of the LLVM environments that are computed from others in this process."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler_gym.envs.llvm.inst2vec import EMBEDDING_SIZE, default_encoder
from compiler_gym.envs.llvm.observations.lexed_ir import LexedToken, lexed_ir_tuple
from compiler_gym.envs.llvm.observations.program_graph import (
    program_graph,
    program_graph_json,
    unpack,
)
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES, INST_COUNT_FEATURE_NAMES
from compiler_gym.spaces import Box, Dict, Scalar, SpaceSequence
from compiler_gym.spaces import Sequence as SequenceSpace

if TYPE_CHECKING:
    import networkx

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
    return Dict({key: Scalar(name=key, min=0, max=max, dtype=dtype) for key in keys}, name=name)
