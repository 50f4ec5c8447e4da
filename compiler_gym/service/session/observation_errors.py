"""Errors of observations, told apart from actions that a service refuses."""

from compiler_gym.service.proto import StepReply
from compiler_gym.service.transport.frames import error_from_reply
from compiler_gym.service.transport.status_errors import exception_from_rpc_error

_ATTRIBUTE = "_compiler_gym_reply"


def checked(reply: StepReply) -> StepReply:
    """Returns the reply to a step whose observations were computed.

    Raises:
        Exception: If an observation failed: what its status stands for, see
            :func:`exception_from_rpc_error`. :func:`reply_behind` finds the reply in it.
    """
    if not reply.HasField("observation_error"):
        return reply
    failure = reply.observation_error
    error = exception_from_rpc_error(error_from_reply(failure.code, failure.message.encode()))
    setattr(error, _ATTRIBUTE, reply)
    raise error


def reply_behind(error: BaseException) -> StepReply | None:
    """Returns the reply to a step of which all actions were applied and an observation failed.

    Args:
        error: What the step raised.

    Returns:
        None if the step failed in another way.
    """
    return getattr(error, _ATTRIBUTE, None)
