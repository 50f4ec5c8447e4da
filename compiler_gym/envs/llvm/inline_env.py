"""The environment whose actions are decisions of LLVM's inliner."""

import re
import shlex
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from compiler_gym.envs.llvm.game_env import GameEnv, make_game_rewards
from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline, elements_of_module
from compiler_gym.service.environment.episode import Episode
from compiler_gym.spaces import CommandlineFlag, Reward

_PASS = re.compile(r"inline-decisions<(.*)>")


class InlineCommandline(LlvmCommandline):
    """The integers 0 to n - 1, each of them a decision about calls, e.g. ``site-3-inline``.

    All decisions together are one pass of the plugin that comes with this package. It does all that
    ``clang -Oz`` does to the IR of a program, and asks them what to inline.
    """

    def __init__(self, items: Iterable[CommandlineFlag], name: str | None = None):
        items = list(items)
        super().__init__(items, name=name)
        self._plugin = items[0].option

    @override
    def options_of(self, values: Iterable[int]) -> list[str]:
        """Returns the option that loads the plugin, which is needed without decisions, too."""
        return [shlex.quote(word) for word in shlex.split(self._plugin)]

    @override
    def _text_of(self, values: list[int]) -> str:
        return f"inline-decisions<{';'.join(self.names[value] for value in values)}>"

    @override
    def actions_of_pipeline(self, pipeline: str) -> list[int]:
        """Returns the decisions of the pass, e.g. ``module(inline-decisions<keep;inline>)``.

        Names of decisions alone are decisions too, e.g. ``keep,inline``.

        Raises:
            UnknownNameError: If one is not an action. The text names similar ones.
            ValueError: If it is another pipeline.
        """
        elements = elements_of_module(pipeline)
        if elements and all(self.has_name(element) for element in elements):
            return [self[element] for element in elements]
        matches = [_PASS.fullmatch(element) for element in elements]
        if len(matches) != 1 or matches[0] is None:
            raise ValueError(f"Expected inline-decisions<...> as the only pass, not '{pipeline}'")
        return [self[text] for text in matches[0][1].split(";") if text]


# What LLVM's own decisions lead to, for each cost. That is where an episode begins.
_COSTS = {
    "ObjectTextSizeBytes": "ObjectTextSizeOz",
    "IrInstructionCount": "IrInstructionCountDefault",
}


def make_inline_rewards() -> list[Reward]:
    """Makes four rewards: for bytes of code and for IR instructions, the reduction and its share.

    See :func:`make_game_rewards`.
    """
    return make_game_rewards(_COSTS)


class InlineEnv(GameEnv):
    """A program is compiled by ``clang -Oz``, and the actions decide what its inliner does.

    There are two action spaces:

    - ``InlinerOrder``, the default: the inliner asks about one call after the other, and the
      actions ``keep``, ``inline`` and ``default`` are the answers. The episode ends with the last
      question. ``InlineQuestion`` and ``InlineFeatures`` tell what is asked.
    - ``AnyOrder``: an action decides about one call, e.g. ``site-3-inline``, or about all calls of
      a function, ``callee-2-keep``, and may be taken back by ``site-3-default``. ``InlineSites``
      and ``InlineSiteFeatures`` tell what there is. The episode has no end.

    The program is at any time what comes out with the decisions so far, and LLVM's own for all
    other calls: an episode begins with the program of ``clang -Oz``, byte for byte.
    ``docs/environments/inlining.md`` has more.

    Args:
        *args: Arguments of :class:`LlvmEnv`, except those for pass plugins and fresh analyses.
        **kwargs: Likewise. The default rewards are those of :func:`make_inline_rewards`.

    Raises:
        ValueError: If a running service is given that plays another game.
        Exception: Any error of :class:`LlvmEnv`.
    """

    game = "inlining"
    action_space_names: ClassVar[tuple[str, ...]] = ("InlinerOrder", "AnyOrder")
    action_space_class = InlineCommandline

    def __init__(self, *args: Any, rewards: Iterable[Reward] | None = None, **kwargs: Any):
        rewards = make_inline_rewards() if rewards is None else rewards
        self._mask: tuple[Episode, np.ndarray] | None = None
        super().__init__(*args, rewards=rewards, **kwargs)

    @override
    def action_masks(self) -> np.ndarray:
        """Returns, as bool[n], which of the n actions are about something that the program has.

        The others have no effect. It stays the same during an episode, and is
        ``info["action_mask"]`` of each step, too.

        Raises:
            SessionNotFound: If there is no episode.
        """
        episode = self._require_episode()
        if self._mask is None or self._mask[0] is not episode:
            self._mask = (episode, self._compute_mask())
        return self._mask[1].copy()

    def _compute_mask(self) -> np.ndarray:
        names = self.action_space.names
        mask = np.ones(len(names), dtype=bool)
        if self.action_space.name == "AnyOrder":
            sites = self.observation["InlineSites"]
            is_open = np.asarray(sites["open"], dtype=bool)
            callees = np.asarray(sites["callee_number"])[is_open]
            known = {f"site-{site}" for site in np.flatnonzero(is_open)}
            known |= {f"callee-{callee}" for callee in callees}
            mask[:] = [name.rpartition("-")[0] in known for name in names]
        return mask
