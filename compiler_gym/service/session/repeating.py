"""Requests that a session has served before, made once more."""

from collections.abc import Sequence
from typing import Protocol

from compiler_gym.errors import ServiceError
from compiler_gym.service.proto import Event, StepReply
from compiler_gym.service.session.session_start import Deadline

#: What a request that the service refuses raises; the session goes on.
REFUSALS = (ValueError, TypeError, NotImplementedError, FileNotFoundError)

#: How many actions to put into a request: fewer requests take less time, but each has a time limit
#: of the service.
ENOUGH_ACTIONS = 100


class Stepping(Protocol):
    """What makes steps."""

    def step(self, actions: Sequence[Event], indices: Sequence[int], timeout: float) -> StepReply:
        """Makes a step, as :meth:`Session.step`."""


def repeat_step(session: Stepping, actions: Sequence[Event], deadline: Deadline) -> None:
    """Applies actions that the service has not refused before.

    Raises:
        ServiceError: If it refuses them now.
        Exception: As of :meth:`Session.step`.
    """
    try:
        session.step(actions, (), deadline.left())
    except REFUSALS as error:
        raise ServiceError(f"An action of the episode is refused now: {error}") from error
