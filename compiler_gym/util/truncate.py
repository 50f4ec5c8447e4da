"""Shortening of texts for display."""

from collections.abc import Iterable

_ELLIPSIS = "..."


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
    result = [line if len(line) <= max_line_len else _ended(line, max_line_len) for line in lines]
    if left_out and tail:
        room = max_line_len - len(_ELLIPSIS)
        result[0] = _ELLIPSIS + lines[0][max(0, len(lines[0]) - room) :]
    elif left_out:
        result[-1] = _ended(lines[-1], max_line_len)
    return "\n".join(result)


def _ended(line: str, length: int) -> str:
    return line[: length - len(_ELLIPSIS)] + _ELLIPSIS
