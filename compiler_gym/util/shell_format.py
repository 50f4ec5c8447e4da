"""Text formatting for terminals."""

import shlex
import signal
from collections.abc import Iterable

_BOLD_BLUE = "\033[1m\033[34m"
_PLAIN = "\033[0m"
_MAX_CHARACTERS = 500


def emph(text: object) -> str:
    """Returns a text that a terminal shows emphasised (bold and blue)."""
    return f"{_BOLD_BLUE}{text}{_PLAIN}"


def plural(quantity: float, singular: str, plural_form: str = "") -> str:
    """Returns a number with the right form of what it counts, e.g. ``"1,000 steps"``.

    Args:
        quantity: The number.
        singular: The form for one.
        plural_form: The form for any other number; with an "s" appended if not given.
    """
    word = singular if quantity == 1 else plural_form or f"{singular}s"
    return f"{quantity:,} {word}"


def percent(share: float | None, digits: int = 2) -> str:
    """Returns a share as a percentage, e.g. ``"12.34%"``; empty for None."""
    return "" if share is None else f"{share:.{digits}%}"


def percent_saved(before: float, after: float) -> str:
    """Returns the share of a size that is saved, e.g. ``"12.34%"``; empty for a size of 0."""
    return percent(1 - after / before if before else None)


def indent(text: str, n: int = 4) -> str:
    """Returns a text with blanks in front of each line."""
    return "\n".join(" " * n + line for line in text.split("\n"))


def join_cmd(cmd: Iterable[object]) -> str:
    """Returns a command quoted for a shell."""
    return shlex.join(str(word) for word in cmd)


def describe_error(error: BaseException) -> str:
    """Returns the text of an error, or its class if the text is empty."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) and len(error.args) == 1:
        return str(error.args[0])  # Its text would be in quotes.
    return str(error) or type(error).__name__


def how_it_failed(code: int, *outputs: str) -> str:
    """Returns what a user has to know of a command of his that failed, on one line if it can be.

    Args:
        code: Its exit code, or a signal as ``subprocess`` has it.
        outputs: What it printed. The end of the first that is not blank is shown.
    """
    how = f"killed by {signal_name(-code)}" if code < 0 else f"exit code {code}"
    said = next(filter(None, map(str.strip, outputs)), "")[-_MAX_CHARACTERS:]
    return f"{how}: {said}" if said else how


def signal_name(number: int) -> str:
    """Returns the name of a signal, such as ``SIGSEGV``."""
    try:
        return signal.Signals(number).name
    except ValueError:  # Real-time signals have no names.
        return f"signal {number}"
