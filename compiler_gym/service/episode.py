"""What has happened since the last reset."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

from gymnasium.spaces import Space

from compiler_gym.datasets import Benchmark


@dataclass
class Episode:
    """The record of an episode.

    Attributes:
        benchmark: The program.
        action_space: The action space at the beginning.
        actions: All actions, including those without effect and those that failed.
        reward: The sum of the rewards, None if there is no default reward space.
        params: The session parameters that were sent, in order.
        start_time: When it began, by :func:`time.monotonic`.
    """

    benchmark: Benchmark
    action_space: Space
    actions: list[Any] = field(default_factory=list)
    reward: float | None = None
    params: list[tuple[str, str]] = field(default_factory=list)
    start_time: float = field(default_factory=time.monotonic)

    @property
    def walltime(self) -> float:
        """Seconds since the episode began."""
        return time.monotonic() - self.start_time

    def copy(self) -> "Episode":
        """Returns a record that continues on its own."""
        return replace(self, actions=self.actions.copy(), params=self.params.copy())
