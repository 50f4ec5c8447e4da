"""Checks of embeddings: near statements with the same opcode, and analogies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SWAPS = (
    ("i32", "i64"),
    ("i8", "i32"),
    ("float", "double"),
    ("add", "sub"),
    ("fadd", "fmul"),
    ("eq", "ne"),
    ("slt", "sgt"),
    ("sext", "zext"),
)
"""Words of statements in place of which analogies put others."""

_NEAREST = 5
_MOST = 2000
_RESULT = re.compile(r"^(?:<%ID> = )?(?:(?:tail|musttail|notail) )?(\w+)")


def opcode_of(statement: str) -> str:
    """Returns the opcode of a statement, or the statement if it has none."""
    match = _RESULT.match(statement)
    return match[1] if match else statement


@dataclass(frozen=True)
class Analogies:
    """Questions of the form "a is to b as c is to what?".

    Attributes:
        asked: The number of questions.
        first: The share of which the answer is the nearest embedding.
        among_five: The share of which it is among the five nearest.
    """

    asked: int
    first: float
    among_five: float


def _unit(embeddings: np.ndarray) -> np.ndarray:
    """Returns the embeddings with the length one; the differences from their mean."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings / np.maximum(lengths, 1e-9)


def same_opcode(statements: Sequence[str], embeddings: np.ndarray) -> tuple[float, float]:
    """Returns the share of the five nearest statements with the same opcode, and by chance.

    Args:
        statements: The statements by index.
        embeddings: float32[n, d], in the same order.
    """
    opcodes = np.unique([opcode_of(each) for each in statements], return_inverse=True)[1]
    unit = _unit(embeddings)
    found = 0
    for begin in range(0, len(unit), 1000):
        near = unit[begin : begin + 1000] @ unit.T
        near[np.arange(len(near)), begin + np.arange(len(near))] = -np.inf
        nearest = np.argpartition(-near, _NEAREST, axis=1)[:, :_NEAREST]
        found += int((opcodes[nearest] == opcodes[begin : begin + 1000, None]).sum())
    sizes = np.bincount(opcodes)
    chance = float((sizes * (sizes - 1)).sum() / (len(unit) * (len(unit) - 1)))
    return found / (_NEAREST * len(unit)), chance


def analogies(
    indices: Mapping[str, int], embeddings: np.ndarray, swap: tuple[str, str], seed: int = 0
) -> Analogies:
    """Asks about pairs of statements that differ by one word.

    Args:
        indices: The index of each statement.
        embeddings: float32[n, d].
        swap: The word of the first statements, and that of the second.
        seed: Chooses the questions.
    """
    word, other = swap
    pattern = re.compile(rf"(?<![\w.]){word}(?!\w)")
    pairs = [
        (index, indices[partner])
        for statement, index in indices.items()
        if (partner := pattern.sub(other, statement)) != statement and partner in indices
    ]
    asked = [(a, b) for a in range(len(pairs)) for b in range(len(pairs)) if a != b]
    rng = np.random.default_rng(seed)
    if len(asked) > _MOST:
        asked = [asked[number] for number in rng.choice(len(asked), _MOST, replace=False)]
    if not asked:
        return Analogies(0, 0.0, 0.0)
    unit = _unit(embeddings)
    a, b = np.array([pairs[each] for each, _ in asked]).T
    c, answer = np.array([pairs[each] for _, each in asked]).T
    near = _unit(unit[b] - unit[a] + unit[c]) @ unit.T
    for known in (a, b, c):  # As word2vec does: none of the three is an answer.
        near[np.arange(len(near)), known] = -np.inf
    better = (near > near[np.arange(len(near)), answer][:, None]).sum(axis=1)
    return Analogies(len(asked), float((better == 0).mean()), float((better < 5).mean()))
