"""The environment whose actions are pieces of good sequences."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from compiler_gym.envs import CompilerEnv
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.wrappers import CommandlineWithTerminalAction, Macros, UndoLarger

PIECE = 5
"""The maximum number of passes of a piece."""


def cut(sequence: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns a sequence as pieces of at most five passes."""
    return [tuple(sequence[begin : begin + PIECE]) for begin in range(0, len(sequence), PIECE)]


def pieces() -> list[tuple[str, ...]]:
    """Returns the sequences of the shipped coreset, cut into pieces of at most five passes.

    The first nine in this order are the shipped policy ``sequence``.
    """
    return [*dict.fromkeys(chain.from_iterable(map(cut, Policy.load("coreset").sequences)))]


def make_pieces_env(**kwargs: Any) -> CompilerEnv:
    """Makes ``llvm-pieces-ic-v0``.

    An action is a piece of a sequence, which is undone if it makes the program larger, or the last
    one, which ends the episode.

    Args:
        **kwargs: Those of :class:`LlvmEnv`.
    """
    env = LlvmEnv(**kwargs)
    return CommandlineWithTerminalAction(Macros(UndoLarger(env), pieces()))
