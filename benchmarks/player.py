"""The common interface of the players, which are measured against each other."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from compiler_gym.datasets import Benchmark


class Player(ABC):
    """Plays episodes on one program, and says how long everything took.

    All durations are in microseconds. Players that do the same do the same work on the program,
    so that their durations can be compared.
    """

    @abstractmethod
    def reset(self) -> float:
        """Begins an episode on the program of the last one."""

    @abstractmethod
    def reset_to(self, benchmark: Benchmark) -> float:
        """Begins an episode on another program, which the service does not know yet."""

    @abstractmethod
    def play(self, actions: Sequence[int]) -> float:
        """Applies actions in a single request.

        Raises:
            RuntimeError: If the compiler fails.
        """

    @abstractmethod
    def observe(self, observation: str) -> float:
        """Computes an observation of the present state."""

    @abstractmethod
    def fork(self) -> float:
        """Makes a copy of the present state, which is given up at once."""

    @abstractmethod
    def close(self) -> None:
        """Gives up everything it holds."""


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Calls a function; returns how long it took, in microseconds, and what it returned."""
    start = time.perf_counter_ns()
    result = function()
    return (time.perf_counter_ns() - start) / 1e3, result
