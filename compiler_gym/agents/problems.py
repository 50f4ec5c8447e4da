"""Errors for agents."""

from compiler_gym.util.shell_format import describe_error

_MAX_CHARACTERS = 2_000


class AgentError(Exception):
    """A request that cannot be answered. The text tells the agent what to do instead.

    Args:
        text: The text. If it quotes much of a request, its middle is left out.
    """

    def __init__(self, text: str):
        if len(text) > _MAX_CHARACTERS:
            text = f"{text[: _MAX_CHARACTERS // 2]} … {text[-_MAX_CHARACTERS // 2 :]}"
        super().__init__(text)


def text_of(error: BaseException) -> str:
    """Returns the text of an error in one line."""
    return " ".join(describe_error(error).split())
