"""The interface between the scheduler of a pool and the processes that do the work."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler_gym.distributed.task import Task


class PoolError(RuntimeError):
    """The workers cannot be used at all."""


@dataclass(frozen=True)
class Lost:
    """The result of a call whose process has ended, or that the process never got.

    Attributes:
        reason: What is known about it.
    """

    reason: str


class Handle(ABC):
    """One process of a backend. Calls are served one after the other, in their order."""

    @abstractmethod
    def hello(self) -> object:
        """Asks the process for its facts.

        Returns:
            The ticket of the call.
        """

    @abstractmethod
    def run(self, tasks: Sequence[Task], blobs: Mapping[str, bytes], seconds: float) -> object:
        """Has the process run tasks: see :meth:`Worker.run`.

        Returns:
            The ticket of the call.
        """

    @abstractmethod
    def restart(self) -> None:
        """Kills the process, and starts another in its place. Its calls are lost."""

    def stop(self) -> None:  # noqa: B027, some processes can only be killed.
        """Asks the process to end, and does not wait for that. :meth:`kill` follows."""

    @abstractmethod
    def kill(self) -> None:
        """Kills the process for good."""


class Backend(ABC):
    """Starts processes and waits for their replies.

    Attributes:
        is_here: Whether the "processes" are threads of this one. To send tasks ahead, or several at
            once, would bring nothing then.
    """

    is_here = False

    @abstractmethod
    def capacity(self) -> int:
        """Returns how many processes there is room for now."""

    @abstractmethod
    def start(self) -> Handle:
        """Starts a process. Returns at once."""

    @abstractmethod
    def wait(self, tickets: Sequence[Any], seconds: float) -> list[tuple[Any, Any]]:
        """Waits until a call has ended.

        Args:
            tickets: The calls under way.
            seconds: The longest time to wait.

        Returns:
            The calls that have ended, each with its result, or :class:`Lost`.
        """

    @abstractmethod
    def report(self, facts: Mapping[str, float]) -> None:
        """Publishes the statistics of the pool, where the backend has a place for them."""

    @abstractmethod
    def close(self) -> None:
        """Ends what the backend has started."""
