"""How the view of an environment's observations asks for them."""

import weakref
from collections.abc import Sequence
from typing import Any

from compiler_gym.errors import ServiceError, ServiceIsClosed
from compiler_gym.service.environment.step_plan import StepPlan
from compiler_gym.service.proto import Event
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.views.observation_view import RawStep

_OBSERVATION_SECONDS = 300


def make_observer(sessions: SessionManager) -> RawStep:
    """Returns what an observation view makes its requests by.

    It raises the errors of the service; the episode survives if it can. What rewards ask for has
    the time that is left of their step.

    Args:
        sessions: The sessions of the environment. They are not kept alive.
    """
    # Deleting an environment is to end its session, even if somebody still has the view.
    reference = weakref.ref(sessions)

    def observe(
        actions: Sequence[Event],
        observation_spaces: Sequence[ObservationSpaceSpec],
        reward_spaces: Sequence[Reward],
    ) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
        sessions = reference()
        if sessions is None:
            raise ServiceIsClosed("The environment of this view does not exist any more")
        del reward_spaces  # There are none, as these observations are not those of a step.
        plan = StepPlan(observation_spaces, (), {})
        deadline = sessions.step_deadline
        try:
            seconds = _OBSERVATION_SECONDS if deadline is None else deadline.left()
            reply = sessions.step(actions, plan.indices, seconds)
        except (ServiceError, TimeoutError) as error:
            if sessions.is_lost_by(error):
                sessions.abandon(error)
            if deadline is not None and isinstance(error, TimeoutError):
                raise _explained(error, observation_spaces) from error
            raise
        return *plan.evaluate(reply.observation, [], None), False, {}

    return observe


def _explained(error: TimeoutError, spaces: Sequence[ObservationSpaceSpec]) -> TimeoutError:
    names = ", ".join(f"env.observation[{space.id!r}]" for space in spaces)
    return TimeoutError(
        f"{error}. This was for the reward, in the time limit of its step. {names} after a reset "
        f"has {_OBSERVATION_SECONDS} s, and a baseline that was computed is kept"
    )
