"""Shortening of texts for display."""

import textwrap
from collections.abc import Iterable

_ELLIPSIS = "..."


def shortened(text: str, length: int, mark: str = "…") -> str:
    """Returns the beginning of a text that is too long for a place in a table or a message.

    Args:
        text: The text.
        length: The greatest length.
        mark: The end of a text that was shortened.
    """
    return text if len(text) <= length else text[: length - len(mark)] + mark


def filled(text: str, width: int = 80, indent: str = "") -> str:
    """Returns a text in lines of a width. Words, such as paths, stay whole.

    Args:
        text: The text.
        width: The greatest length of a line.
        indent: The beginning of each line but the first.
    """
    return textwrap.fill(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def truncate(text: str, max_line_len: int = 60, max_lines: int = 1, tail: bool = False) -> str:
    """Shortens a text to a number of lines and a length of lines.

    Args:
        text: The text.
        max_line_len: The greatest length of a line, at least 3.
        max_lines: The greatest number of lines, at least 1.
        tail: Keep the end of the text rather than its beginning.

    Returns:
        The text, with an ellipsis wherever something was left out.
    """
    return truncate_lines(text.rstrip("\n").split("\n"), max_line_len, max_lines, tail)


def truncate_lines(
    lines: Iterable[str], max_line_len: int = 60, max_lines: int = 1, tail: bool = False
) -> str:
    """Same as :func:`truncate`, for a text given by its lines."""
    if max_line_len < len(_ELLIPSIS) or max_lines < 1:
        raise ValueError(
            f"A text cannot be truncated to {max_lines} lines of length {max_line_len}: there has "
            f"to be a line, with room for {_ELLIPSIS!r}"
        )
    lines = list(lines)
    left_out = len(lines) > max_lines
    lines = lines[-max_lines:] if tail else lines[:max_lines]
    result = [shortened(line, max_line_len, _ELLIPSIS) for line in lines]
    if left_out and tail:
        room = max_line_len - len(_ELLIPSIS)
        result[0] = _ELLIPSIS + lines[0][max(0, len(lines[0]) - room) :]
    elif left_out:
        result[-1] = lines[-1][: max_line_len - len(_ELLIPSIS)] + _ELLIPSIS
    return "\n".join(result)
