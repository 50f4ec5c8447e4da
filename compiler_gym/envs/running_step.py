"""Asynchronous steps of environments."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from compiler_gym.util.gym_type_hints import StepType


class RunningStep(ABC):
    """A pending step, the result of ``env.begin_multistep()``.

    Attributes:
        deadline: The time at which :meth:`result` stops waiting, by :func:`time.monotonic`; None
            for never.
        fd: A descriptor that is readable as soon as there is something of the result; -1 if there
            is nothing to wait for.
    """

    deadline: float | None
    fd: int

    @abstractmethod
    def result(self) -> StepType:
        """Waits for the end of the step. Call it once.

        Returns:
            The result of ``env.multistep()``.

        Raises:
            Exception: Any error of ``env.multistep()``.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Cancels the step, and so the episode. Call it instead of :meth:`result`."""


class FinishedStep(RunningStep):
    """A step that has been made already.

    Args:
        result: Its result.
    """

    deadline = None
    fd = -1

    def __init__(self, result: StepType):
        self._result = result

    def result(self) -> StepType:
        """Returns the result of the step."""
        return self._result

    def cancel(self) -> None:
        """Does nothing, because the step is finished."""


class ConvertedStep(RunningStep):
    """A running step whose result is converted.

    Args:
        step: The step.
        convert: Converts its result.
    """

    def __init__(self, step: RunningStep, convert: Callable[[StepType], StepType]):
        self._step = step
        self._convert = convert
        self.deadline = step.deadline
        self.fd = step.fd

    def result(self) -> StepType:
        """Waits for the end of the step inside, and converts its result."""
        return self._convert(self._step.result())

    def cancel(self) -> None:
        """Cancels the step inside."""
        self._step.cancel()
