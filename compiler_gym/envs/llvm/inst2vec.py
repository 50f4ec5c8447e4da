"""inst2vec: embeddings of the statements of a program.

After Ben-Nun et al., "Neural Code Comprehension: A Learnable Representation of Code Semantics",
NeurIPS 2018. ``compiler_gym/tuning/vocabulary_training`` trained the vocabulary of this package.
"""

import hashlib
import io
import json
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.util.runfiles_path import possible_site_data_path, runfiles_path

# Vocabularies of inst2vec: the statements that have an embedding.

EMBEDDING_SIZE = 200
"""The number of elements of an embedding."""

UNKNOWN = "!UNK"
"""The entry that stands for all statements that are not in a vocabulary."""

ENVIRONMENT_VARIABLE = "COMPILER_GYM_INST2VEC_VOCABULARY"
"""Names the folder of the vocabulary."""

FOLDER = "inst2vec"
"""Where another vocabulary than the shipped one is in the directory of datasets."""

_SHIPPED = "compiler_gym/data/vocabularies/inst2vec"

_DICTIONARIES = ("dictionary.pickle", "dictionary.json")
_EMBEDDINGS = ("embeddings.npy", "embeddings.pickle")
_CHECKSUMS = "SHA256SUMS"

# What pickled dictionaries and arrays are made of.
_SAFE_GLOBALS = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("_codecs", "encode"),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Statements with their embeddings.

    Attributes:
        indices: The index of each statement.
        embeddings: float32[n, 200], a row for each index.
    """

    indices: Mapping[str, int]
    embeddings: np.ndarray

    def __post_init__(self) -> None:
        """Checks that the parts fit together.

        Raises:
            ValueError: They do not. The text says why.
        """
        rows = len(self.embeddings)
        if self.embeddings.shape != (rows, EMBEDDING_SIZE):
            raise ValueError(
                f"The embeddings have the shape {self.embeddings.shape}; expected {EMBEDDING_SIZE} "
                "numbers for each statement"
            )
        if UNKNOWN not in self.indices:
            raise ValueError(f"The dictionary has no entry {UNKNOWN!r}")
        if not all(0 <= index < rows for index in self.indices.values()):
            raise ValueError(f"The dictionary has indices outside of the {rows} embeddings")

    @property
    def unknown(self) -> int:
        """The index of what is not in the vocabulary."""
        return self.indices[UNKNOWN]


def find_vocabulary() -> Path:
    """Returns the folder of the user's vocabulary, which is by default that of this package.

    That is what ``COMPILER_GYM_INST2VEC_VOCABULARY`` says if set, else ``inst2vec`` in the
    directory of datasets, see :func:`site_data_path`, if that has a dictionary.
    """
    configured = os.environ.get(ENVIRONMENT_VARIABLE)
    if configured:
        return Path(configured).expanduser()
    folder = possible_site_data_path(FOLDER)
    if folder and any((folder / name).is_file() for name in _DICTIONARIES):
        return folder
    return runfiles_path(_SHIPPED)


def load_vocabulary(folder: Path) -> Vocabulary:
    """Loads a vocabulary.

    Args:
        folder: Has ``dictionary.pickle`` or ``dictionary.json``, the index of each statement; and
            ``embeddings.npy`` or ``embeddings.pickle``, one row of 200 numbers for each index. If
            it has a file ``SHA256SUMS``, as ``sha256sum`` writes it, the files have to be those.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: A file is not what it should be. The text says which and why.
    """
    checksums = _read_checksums(folder / _CHECKSUMS)
    dictionary = _load(_first_of(folder, _DICTIONARIES), checksums)
    table = _load(_first_of(folder, _EMBEDDINGS), checksums)
    try:
        indices = {str(statement): int(index) for statement, index in dictionary.items()}
        embeddings = np.asarray(table, dtype=np.float32)
        return Vocabulary(indices, np.ascontiguousarray(embeddings))
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"The inst2vec vocabulary in {folder} is malformed: {error}") from error


def save_vocabulary(
    vocabulary: Vocabulary, folder: Path, dtype: type[np.floating[Any]] = np.float32
) -> None:
    """Writes a vocabulary as ``dictionary.json`` and ``embeddings.npy`` to a folder that exists.

    Args:
        vocabulary: The vocabulary.
        folder: The folder.
        dtype: The type of the numbers in the file.

    Raises:
        OSError: It cannot be written.
    """
    text = json.dumps(dict(vocabulary.indices), ensure_ascii=False)
    (folder / _DICTIONARIES[-1]).write_text(text, encoding="utf-8")
    np.save(folder / _EMBEDDINGS[0], vocabulary.embeddings.astype(dtype), allow_pickle=False)


def _first_of(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"There is no inst2vec vocabulary in {folder}: it has no {' or '.join(names)}"
    )


def _read_checksums(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").split("\n")
    pairs = [line.split(maxsplit=1) for line in lines if line.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{path} is not of the form that sha256sum writes")
    return {name.lstrip("*"): checksum.lower() for checksum, name in pairs}


def _load(path: Path, checksums: Mapping[str, str]) -> Any:
    data = path.read_bytes()
    actual = hashlib.sha256(data).hexdigest()
    expected = checksums.get(path.name, actual)
    if actual != expected:
        raise ValueError(f"{path} has the SHA-256 checksum {actual}; expected {expected}")
    try:
        if path.suffix == ".json":
            return json.loads(data)
        if path.suffix == ".npy":
            return np.load(io.BytesIO(data), allow_pickle=False)
        return _DataUnpickler(io.BytesIO(data), encoding="latin1").load()
    except Exception as error:  # Malformed pickles can raise anything.
        raise ValueError(f"Cannot read {path}: {error}") from error


class _DataUnpickler(pickle.Unpickler):
    """Reads pickles of plain data and arrays, and runs no code that they may contain."""

    def find_class(self, module: str, name: str) -> Any:
        """Returns what a pickle refers to, if it is harmless."""
        if (module, name) not in _SAFE_GLOBALS:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}, which is not data")
        return super().find_class(module, name)


_NAME = r'(?:"[^"]*"|[-\w.$]+)'

# Values have numbers for names, as the service discards the others.
_NUMBERED_VALUE = re.compile(r"%\d+\b")
_NUMBERED_TYPE = re.compile(r"^%\d+ = type ", re.MULTILINE)
_STRUCTURE = re.compile(r"^%.*\n", re.MULTILINE)
_TYPE_DEFINITION = re.compile(rf"^%({_NAME}) = type (.*)$", re.MULTILINE)
_DEBUG_RECORD = re.compile(r"^    #dbg_.*\n", re.MULTILINE)
_NAMED = re.compile(rf"%({_NAME})")

# The rewrites of a statement, in order.
_SUBSTITUTIONS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf",? !{_NAME} !(?:\d+|\{{[^}}]*\}}|\w+\([^)]*\))", ""),  # Attached metadata.
        (r"(?<=[\s(])metadata !?\S+?(?=[,)])", "metadata"),
        (r"\s#\d+", ""),  # Attributes that are listed elsewhere.
        (r'c?"[^"]*"', "<STRING>"),
        (rf"@{_NAME}", "<@ID>"),
        (
            r"\b(?:noundef|nneg|nusw|samesign|disjoint|noalias|nocapture|nonnull|mustprogress|"
            r"dead_on_return|dead_on_unwind|writable|immarg|signext|zeroext|returned|inreg|"
            r"nofree|captures\([^)]*\)|align \d+ dereferenceable\S*|dereferenceable\S*|"
            r"initializes\(.*?\)\)|range\([^)]*\)|nofpclass\([^)]*\)|inrange\([^)]*\)) ",
            "",
        ),
        (r"\b(getelementptr(?: inbounds)?)(?: nuw)?", r"\1"),
        (r"\b(trunc)(?: nuw)?(?: nsw)?", r"\1"),
        (r"\b(load (?:volatile |atomic )*)(.+?), ptr (?=[<\w])", r"\1\2, \2* "),
        (r"\b(store (?:volatile |atomic )*)(.+) (\S+), ptr (?=[<\w])", r"\1\2 \3, \2* "),
        (r"\b(getelementptr (?:inbounds )?\(?)(.+?), ptr (?=[<\w])", r"\1\2, \2* "),
        (r"\bptr\b", "i8*"),
        # Hexadecimal numbers are floats: integers are printed in decimal.
        (r"(?<![\w.<%@])-?(?:0x[0-9A-FHKLMR][0-9A-F]*|\d+\.\d+(?:e[-+]\d+)?)\b", "<FLOAT>"),
        # Not the sizes of arrays and vectors, widths in names of types, and alignments.
        (r"(?<![\w.<\[%@#-])(?<!align )(?<!addrspace\()-?\d+\b(?! x )", "<INT>"),
        (r"\s+", " "),
    )
]

# The maximum numbers of cached statements and of sets of structures.
_MAX_STATEMENTS = 200_000
_MAX_STRUCTURES = 8


class StatementReader:
    """Finds the statements of programs, and remembers those that it has seen.

    The statements of a program change little from one step to the next, and many are the same but
    for the numbers of values: what is left to do for those is to look them up. Threads may share a
    reader.
    """

    def __init__(self) -> None:
        # By the definitions of the structures that they may name.
        self._statements = lru_cache(maxsize=_MAX_STRUCTURES)(_Statements)

    def read(self, ir: str) -> list[str]:
        """Returns one statement for each instruction, in the order of the program.

        Args:
            ir: Textual IR, as the observation ``Ir``.
        """
        # Structures and global variables come first.
        functions = ir.find("\ndefine ") + 1
        if not functions and not ir.startswith("define "):
            return []
        definitions = "".join(_STRUCTURE.findall(ir, 0, functions))
        text = _DEBUG_RECORD.sub("", ir[functions:])
        if not _NUMBERED_TYPE.search(definitions):
            text = _NUMBERED_VALUE.sub("<%ID>", text)
        # Instructions of several lines: clauses and cases are indented further.
        text = text.replace("\n    ", " ").replace("\n  ]", " ]")
        lines = [line[2:] for line in text.split("\n") if line.startswith("  ")]
        return self._statements(definitions).of(lines)

    def unpack(self, packed: Mapping[str, Any]) -> list[str]:
        """Returns the same from the value of the observation ``Inst2vecPacked``."""
        statements = self._statements(packed["structures"]).of(packed["lines"].split("\n")[:-1])
        return [statements[index] for index in packed["indices"].view("<i4").tolist()]


class _Statements:
    """A cache of preprocessed statements of programs with the same structure types."""

    def __init__(self, definitions: str):
        self._structures = dict(_TYPE_DEFINITION.findall(definitions))
        self._known: dict[str, str] = {}

    def of(self, lines: Sequence[str]) -> list[str]:
        """Returns the statement of each line."""
        # Another thread may do this too, at any time: what is missing then is learnt again.
        if len(self._known) > _MAX_STATEMENTS:
            self._known.clear()
        statements = list(map(self._known.get, lines))
        if None in statements:
            statements = list(map(self._learn, lines))
        return statements  # type: ignore[return-value]  # None of them is None.

    def _learn(self, line: str) -> str:
        statement = self._known.get(line)
        if statement is None:
            self._known[line] = statement = _normalise(line, self._structures)
        return statement


def _inline(text: str, structures: Mapping[str, str]) -> str:
    """Replaces names of structures by their elements, and all other names by ``<%ID>``."""

    def replace(match: re.Match[str]) -> str:
        body = structures.get(match[1])
        if body is None:
            return "<%ID>"
        # What has pointers is not recursive: pointers do not say what they point to.
        return _inline(body, structures)

    return _NAMED.sub(replace, text)


def _normalise(line: str, structures: Mapping[str, str]) -> str:
    placeholder = "\0"  # As "<%ID>" looks like a name.
    statement = line.replace("<%ID>", placeholder)
    statement = _inline(statement, structures).replace(placeholder, "<%ID>")
    for pattern, replacement in _SUBSTITUTIONS:
        statement = pattern.sub(replacement, statement)
    return statement.strip()


class Inst2vecEncoder:
    """Turns programs into statements, statements into indices, and indices into embeddings.

    Args:
        vocabulary: The vocabulary to use. By default that of the user, see
            :func:`find_vocabulary`, which is loaded when it is first needed.
    """

    def __init__(self, vocabulary: Vocabulary | None = None):
        self._vocabulary = vocabulary
        self._reader = StatementReader()

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary. Loading that of the user raises errors as :func:`load_vocabulary`."""
        if self._vocabulary is None:
            self._vocabulary = load_vocabulary(find_vocabulary())
        return self._vocabulary

    @property
    def vocab(self) -> Mapping[str, int]:
        """The index of each statement that the vocabulary has."""
        return self.vocabulary.indices

    @property
    def embeddings(self) -> np.ndarray:
        """The embeddings of the vocabulary: float32[n, 200], a row for each index."""
        return self.vocabulary.embeddings

    def preprocess(self, ir: str) -> list[str]:
        """Returns the statements of textual IR, one for each instruction."""
        return self._reader.read(ir)

    def unpack(self, packed: Mapping[str, Any]) -> list[str]:
        """Returns the same from the value of the observation ``Inst2vecPacked``."""
        return self._reader.unpack(packed)

    def encode(self, statements: Sequence[str]) -> np.ndarray:
        """Returns the index of each statement in the vocabulary: int32[n]."""
        indices, unknown = self.vocabulary.indices, self.vocabulary.unknown
        return np.array([indices.get(each, unknown) for each in statements], dtype=np.int32)

    def embed(self, indices: np.ndarray | Sequence[int]) -> np.ndarray:
        """Returns the embedding of each index: float32[n, 200].

        Raises:
            IndexError: An index is not in the vocabulary.
        """
        return self.vocabulary.embeddings[np.asarray(indices, dtype=np.intp)]


@cache
def default_encoder() -> Inst2vecEncoder:
    """Returns the encoder of the user's vocabulary, which all environments of a process share."""
    return Inst2vecEncoder()
