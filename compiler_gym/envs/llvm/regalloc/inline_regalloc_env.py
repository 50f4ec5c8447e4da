"""The environment whose actions are decisions of LLVM's inliner, then of its register allocator."""

from typing import ClassVar

import numpy as np
from typing_extensions import override

from compiler_gym.envs.llvm.regalloc.regalloc_env import (
    AllocationEnv,
    AnswerCommandline,
    describe_question,
)

_CALL_ANSWERS = 2
"""The actions before the candidates: ``keep`` and ``inline``."""


class InlineRegallocCommandline(AnswerCommandline):
    """The integers 0 to 35, each of them the answer to a question about a call or an eviction.

    Several answers have the form ``decisions<keep;default*12;candidate-3>``, which is not a command
    of any tool of LLVM.
    """

    text_name: ClassVar[str] = "decisions"


class InlineRegallocEnv(AllocationEnv):
    """A program is compiled by ``clang -Oz``, and the actions decide about calls and registers.

    First the inliner asks about one call after the other, as in ``llvm-inline-v0``: ``keep``,
    ``inline`` or ``default``. Then the register allocator of the program that results asks as in
    ``llvm-regalloc-v0``: ``candidate-0`` to ``candidate-31``, ``none`` or ``default``. The episode
    ends with the last question.

    LLVM answers the remaining questions, so the program is complete at any time. An episode begins
    with the program of ``clang -Oz``. ``docs/environments/inline-regalloc.md`` has more.

    Args:
        *args: Arguments of :class:`LlvmEnv`, except those for pass plugins and fresh analyses.
        **kwargs: Likewise. The default rewards are those of :func:`make_regalloc_rewards`.

    Raises:
        ValueError: If a running service is given that plays another game.
        Exception: Any error of :class:`LlvmEnv`.
    """

    game = "inline-regalloc"
    action_space_names: ClassVar[tuple[str, ...]] = ("InlineThenEvict",)
    action_space_class = InlineRegallocCommandline

    @override
    def action_masks(self) -> np.ndarray:
        """Returns the answers to the open question, as bool[36].

        ``default`` is always one of them. It is the only one if there is no further question.

        Raises:
            SessionNotFound: If there is no episode.
        """
        calls = np.full(_CALL_ANSWERS, self._is_about_call())
        registers = self.observation["EvictionMask"].astype(bool) & ~calls[0]
        return np.concatenate([calls, registers, [True]])

    def _is_about_call(self) -> bool:
        return self.observation["InlineQuestion"]["number"] >= 0

    @override
    def _open_question(self) -> str:
        if self._is_about_call():
            question = self.observation["InlineQuestion"]
            return (
                f"question {question['number']} about the call of {question['callee']} in "
                f"{question['caller']}"
            )
        return describe_question(self.observation["EvictionQuestion"])
