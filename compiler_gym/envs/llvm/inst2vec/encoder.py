"""From programs to embeddings, in three steps."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from compiler_gym.envs.llvm.inst2vec.statements import StatementReader
from compiler_gym.envs.llvm.inst2vec.vocabulary import (
    Vocabulary,
    user_vocabulary,
)


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
        """The vocabulary. Loading that of the user raises errors as :func:`user_vocabulary`."""
        if self._vocabulary is None:
            self._vocabulary = user_vocabulary()
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
