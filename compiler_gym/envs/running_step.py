"""Steps of environments that are being made while their user does something else."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from compiler_gym.util.gym_type_hints import StepType


class RunningStep(ABC):
    """A step that has begun. What ``env.begin_multistep()`` returns.

    Attributes:
        deadline: When :meth:`result` stops waiting, by :func:`time.monotonic`; None for never.
        fd: A descriptor that is readable as soon as there is something of the result; -1 if there
            is nothing to wait for.
    """

    deadline: float | None
    fd: int

    @abstractmethod
    def result(self) -> StepType:
        """Waits for the end of the step. To be called once.

        Returns:
            What ``env.multistep()`` returns.

        Raises:
            Exception: As ``env.multistep()``.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Gives up the step, and with it the episode. To be called instead of :meth:`result`."""


class FinishedStep(RunningStep):
    """A step that was made at once.

    Args:
        result: Its result.
    """

    deadline = None
    fd = -1

    def __init__(self, result: StepType):
        self._result = result

    def result(self) -> StepType:
        """Returns what the step has returned."""
        return self._result

    def cancel(self) -> None:
        """Does nothing, as the step was made."""


class ConvertedStep(RunningStep):
    """A running step whose result is converted.

    Args:
        step: The step.
        convert: Called with its result; returns what is the result of this.
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
        """Gives up the step inside."""
        self._step.cancel()
