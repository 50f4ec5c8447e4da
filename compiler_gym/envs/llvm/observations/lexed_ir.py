"""Tokens of textual IR, from the observation ``LexedIr``."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


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
