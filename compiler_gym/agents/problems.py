"""Errors for agents."""

from compiler_gym.util.shell_format import describe_error


class AgentError(Exception):
    """A request that cannot be answered. The text tells the agent what to do instead."""


def text_of(error: BaseException) -> str:
    """Returns the text of an error in one line."""
    return " ".join(describe_error(error).split())
