"""The action space of CompilerGym 0.2.5, with its names of actions."""

from collections.abc import Iterable

import numpy as np
from typing_extensions import override

from compiler_gym.compat.legacy_actions import LEGACY_ACTIONS
from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline
from compiler_gym.spaces import CommandlineFlag


class LegacyCommandline(LlvmCommandline):
    """The 124 actions of CompilerGym 0.2.5, with their names of that release.

    ``space.names`` and ``space.flags`` have the same order as in that release, so
    ``space.names.index("-mem2reg")`` is the same number. Command lines are written for today's
    ``opt``, from :attr:`pipelines`. Command lines of that release can be read. Actions that today's
    LLVM does not have do nothing.
    """

    def __init__(
        self,
        items: Iterable[CommandlineFlag],
        name: str | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        """Makes a space.

        Args:
            items: The actions: their former names without a dash, and today's pipelines as flags.
            name: The name of the space.
            seed: The seed for sampling.

        Raises:
            ValueError: If there are none.
        """
        super().__init__(items, name=name, seed=seed)
        self._pipelines = self.flags
        self.flags = [
            f"-{name}" if name in LEGACY_ACTIONS else flag
            for name, flag in zip(self.names, self.flags, strict=True)
        ]
        self.names = [f"-{name}" if name in LEGACY_ACTIONS else name for name in self.names]

    @property
    @override
    def pipelines(self) -> list[str]:
        return self._pipelines

    @override
    def with_items(self, items: Iterable[CommandlineFlag], name: str | None) -> "LegacyCommandline":
        pipelines = dict(zip(self.flags, self._pipelines, strict=True))
        as_of_the_service = [
            item._replace(name=item.name.removeprefix("-"), flag=pipelines[item.flag])
            if item.flag in pipelines
            else item
            for item in items
        ]
        return type(self)(as_of_the_service, name=name)
