"""Conversion of programs to embeddings, in three steps."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from compiler_gym.envs.llvm.inst2vec.vocabulary import (
    Vocabulary,
    user_vocabulary,
)

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
            r"captures\([^)]*\)|align \d+ dereferenceable\S*|dereferenceable\S*|"
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
