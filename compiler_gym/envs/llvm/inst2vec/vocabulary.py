"""Vocabularies of inst2vec: the statements that have an embedding."""

import hashlib
import io
import json
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.util.runfiles_path import runfiles_path, site_data_path

EMBEDDING_SIZE = 200
"""The number of elements of an embedding."""

UNKNOWN = "!UNK"
"""The entry that stands for all statements that are not in a vocabulary."""

ENVIRONMENT_VARIABLE = "COMPILER_GYM_INST2VEC_VOCABULARY"
"""Names the folder of the vocabulary, or is :data:`TEST_VOCABULARY`."""

TEST_VOCABULARY = "test"
"""Chooses the vocabulary of this package, whose embeddings mean nothing."""

FOLDER = "inst2vec"
"""Where the vocabulary is in the directory of datasets."""

_DICTIONARIES = ("dictionary.pickle", "dictionary.json")
_EMBEDDINGS = ("embeddings.npy", "embeddings.pickle")
_CHECKSUMS = "SHA256SUMS"

_TEST_STATEMENTS = "compiler_gym/envs/llvm/inst2vec/test_statements.txt"

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
        is_published: False for that of this package, which is for tests only.
    """

    indices: Mapping[str, int]
    embeddings: np.ndarray
    is_published: bool = True

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


def find_vocabulary() -> Path | None:
    """Returns the folder of the user's vocabulary, or None if there is none.

    That is what ``COMPILER_GYM_INST2VEC_VOCABULARY`` says if set, else ``inst2vec`` in the
    directory of datasets, see :func:`site_data_path`, if that has a dictionary.
    """
    configured = os.environ.get(ENVIRONMENT_VARIABLE)
    if configured:
        return Path(configured)
    folder = site_data_path(FOLDER)
    return folder if any((folder / name).is_file() for name in _DICTIONARIES) else None


def user_vocabulary() -> Vocabulary:
    """Loads the vocabulary of the user, see :func:`find_vocabulary`.

    Raises:
        FileNotFoundError: There is none. The text says how to get it.
        ValueError: See :func:`load_vocabulary`.
    """
    folder = find_vocabulary()
    if folder is None:
        raise FileNotFoundError(
            "There is no inst2vec vocabulary. Get the published one by `python -m "
            f"compiler_gym.bin.vocabularies inst2vec`, or set {ENVIRONMENT_VARIABLE} to the folder "
            f"of another, or to {TEST_VOCABULARY!r} for a small one whose embeddings mean nothing"
        )
    return make_test_vocabulary() if folder == Path(TEST_VOCABULARY) else load_vocabulary(folder)


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


def save_vocabulary(vocabulary: Vocabulary, folder: Path) -> None:
    """Writes a vocabulary as ``dictionary.json`` and ``embeddings.npy`` to a folder that exists.

    Raises:
        OSError: It cannot be written.
    """
    text = json.dumps(dict(vocabulary.indices), ensure_ascii=False)
    (folder / _DICTIONARIES[-1]).write_text(text, encoding="utf-8")
    np.save(folder / _EMBEDDINGS[0], vocabulary.embeddings, allow_pickle=False)


def make_test_vocabulary() -> Vocabulary:
    """Makes the vocabulary of this package: common statements, with random embeddings.

    It has the form of the published one, but its embeddings mean nothing.
    """
    statements = runfiles_path(_TEST_STATEMENTS).read_text(encoding="utf-8").splitlines()
    indices = {statement: index for index, statement in enumerate([*statements, UNKNOWN])}
    embeddings = np.random.default_rng(0).standard_normal((len(indices), EMBEDDING_SIZE))
    return Vocabulary(indices, embeddings.astype(np.float32), is_published=False)


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
