"""The vocabularies of IR2Vec: seed vectors of opcodes, types and kinds of arguments."""

import copy
import json
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from compiler_gym.envs.llvm.specs import INST_COUNT_FEATURE_NAMES
from compiler_gym.spaces import Box, SpaceSequence
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import possible_site_data_path, runfiles_path
from compiler_gym.views import ObservationSpaceSpec

IR2VEC_VARIABLE = "COMPILER_GYM_IR2VEC_VOCABULARY"
"""Names the file of the vocabulary."""

IR2VEC_FILE = "ir2vec/vocabulary.json"
"""Where another vocabulary than the shipped one is in the directory of datasets."""

_SHIPPED = "compiler_gym/data/vocabularies"

_OPTION = "--ir2vec_vocabulary="

# The first that has the analysis.
_FIRST_LLVM = 22

# The instructions of LLVM 22 that there are no published vectors for, but one of a like meaning.
# Those of all others are called as the instruction, in lower case.
_OPCODE_STAND_INS = {
    "AddrSpaceCast": "bitcast",
    "CallBr": "invoke",
    "FRem": "fdiv",
    "IndirectBr": "switch",
    "PtrToAddr": "ptrtoint",
}

_TYPES = {
    "ArrayTy": "structTy",  # Stands in; the other kind of aggregate.
    "FloatTy": "floatTy",
    "IntegerTy": "integerTy",
    "LabelTy": "label",
    "PointerTy": "pointerTy",
    "StructTy": "structTy",
    "VectorTy": "vectorTy",
    "VoidTy": "voidTy",
}

_ARGUMENTS = {
    "Constant": "constant",
    "Function": "function",
    "Pointer": "pointer",
    "Variable": "variable",
}

Vectors = dict[str, list[float]]


def find_ir2vec_vocabulary() -> Path:
    """Returns the file of the user's vocabulary, which is by default that of this package.

    That is ``COMPILER_GYM_IR2VEC_VOCABULARY`` if set, else ``ir2vec/vocabulary.json`` in the
    directory of datasets, see :func:`site_data_path`, if that is there.
    """
    configured = os.environ.get(IR2VEC_VARIABLE)
    if configured:
        return Path(configured).expanduser().absolute()
    path = possible_site_data_path(IR2VEC_FILE)
    return path if path and path.is_file() else runfiles_path(_SHIPPED) / IR2VEC_FILE


def ir2vec_options() -> list[str]:
    """Returns the options that make the LLVM service use the vocabulary of the user."""
    if llvm_tools.llvm_version() < _FIRST_LLVM:
        return []
    return [f"{_OPTION}{find_ir2vec_vocabulary()}"]


def vocabulary_of_options(options: Sequence[str]) -> Path | None:
    """Returns the vocabulary that a service with these options has; None if they name none."""
    paths = [option.removeprefix(_OPTION) for option in options if option.startswith(_OPTION)]
    return Path(paths[-1]) if paths else None


def declare_ir2vec(spaces: dict[str, ObservationSpaceSpec], vocabulary: Path | None) -> None:
    """Makes the spaces of the observations those of the vectors of a vocabulary.

    Where it is not known how long these are, the spaces stay as they are.

    Args:
        spaces: The descriptions of the observations by name. Those of ``Ir2vec`` are replaced.
        vocabulary: The file that the service uses.
    """
    dimension = None if vocabulary is None else _dimension_of(vocabulary)
    if dimension is None:
        return
    for name in spaces:
        if name.startswith("Ir2vec"):
            vector = Box(-np.inf, np.inf, name, shape=(dimension,), dtype=np.float64)
            # Forks have the former ones too.
            spec = copy.copy(spaces[name])
            spec.space = vector if name == "Ir2vec" else SpaceSequence(name, vector)
            spaces[name] = spec


def _dimension_of(path: Path) -> int | None:
    """Returns how many numbers each vector of a vocabulary has, or None if that cannot be told."""
    try:
        status = path.stat()
        return _dimension(path, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError, AttributeError, TypeError):  # The service says what is wrong.
        return None


@cache
def _dimension(path: Path, mtime_ns: int, size: int) -> int | None:
    del mtime_ns, size  # They are there to notice that the file is another.
    sections = json.loads(path.read_text(encoding="utf-8"))
    vectors = [vector for section in sections.values() for vector in section.values()]
    return len(vectors[0]) if vectors else None


def parse_seed_vectors(text: str) -> Vectors:
    """Reads vectors as IR2Vec publishes them: lines of the form ``name:[number, ...],``.

    Raises:
        ValueError: The text is of another form, or the vectors are not of one length.
    """
    vectors: Vectors = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, colon, values = line.strip().rstrip(",").partition(":")
        if not name and not colon:
            continue
        vector = json.loads(values) if colon else None
        if not isinstance(vector, list) or not all(isinstance(each, float) for each in vector):
            raise ValueError(f"Line {number} of the seed vectors is not a name with numbers")
        vectors[name] = vector
    if len({len(vector) for vector in vectors.values()}) != 1:
        raise ValueError("The seed vectors are not of one length")
    return vectors


def sections_of(vectors: Vectors) -> dict[str, Vectors]:
    """Makes a vocabulary in LLVM 22's format of vectors by the names of ``llvm-ir2vec``."""
    sections: dict[str, Vectors] = {"Opcodes": {}, "Types": {}, "Arguments": {}}
    for name, vector in vectors.items():
        is_argument = name in _ARGUMENTS or name.startswith(("FCMP_", "ICMP_"))
        title = "Arguments" if is_argument else "Types" if name.endswith("Ty") else "Opcodes"
        sections[title][name] = vector
    return sections


def llvm_vocabulary(vectors: Vectors) -> dict[str, Vectors]:
    """Makes a vocabulary in LLVM 22's format of the vectors that IR2Vec publishes.

    ``docs/environments/observations.md`` lists the missing vectors, which become zeros, and the
    vectors that stand in for others.

    Raises:
        ValueError: A vector is missing, or nobody knows what one is for.
    """
    names = {name: name.lower() for name in INST_COUNT_FEATURE_NAMES}
    opcodes = {name: seed for name, seed in names.items() if seed in vectors} | _OPCODE_STAND_INS
    sections = {"Opcodes": opcodes, "Types": _TYPES, "Arguments": _ARGUMENTS}
    used = {seed for section in sections.values() for seed in section.values()}
    if wrong := sorted(used ^ vectors.keys()):
        raise ValueError(f"Seed vectors are missing, or not known: {', '.join(wrong)}")
    return {
        title: {name: vectors[seed] for name, seed in section.items()}
        for title, section in sections.items()
    }
