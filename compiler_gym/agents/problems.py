"""Errors for agents."""


class AgentError(Exception):
    """A request that cannot be answered. The text tells the agent what to do instead."""


def text_of(error: BaseException) -> str:
    """Returns the text of an error in one line."""
    text = str(error.args[0]) if error.args else type(error).__name__
    return " ".join(text.split())
