"""The actions that decide about inlining, and the command lines of ``opt`` they make."""

import re
import shlex
from collections.abc import Iterable

from typing_extensions import override

from compiler_gym.envs.llvm.actions.llvm_command_line import LlvmCommandline
from compiler_gym.envs.llvm.actions.pipeline import split_pipeline, unnest
from compiler_gym.spaces import CommandlineFlag

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

        Raises:
            UnknownNameError: If one is not an action. The text names similar ones.
            ValueError: If it is another pipeline.
        """
        elements = split_pipeline(pipeline)
        if len(elements) == 1 and elements[0].startswith("module("):
            elements = split_pipeline(unnest(elements[0]) or "")
        matches = [_PASS.fullmatch(element) for element in elements]
        if len(matches) != 1 or matches[0] is None:
            raise ValueError(f"Expected inline-decisions<...> as the only pass, not '{pipeline}'")
        return [self[text] for text in matches[0][1].split(";") if text]
