"""How a search of ``compiler-gym optimize`` goes, said while it does."""

import time

from compiler_gym.cli.console import messages

_SECONDS_BETWEEN_LINES = 5


class Progress:
    """Says how a search goes: in a line of the terminal, or now and then in a new one.

    Args:
        name: What is made.
        is_quiet: Whether nothing is said unless there is a terminal.
    """

    def __init__(self, name: str, is_quiet: bool):
        self._is_quiet = is_quiet
        self._last = time.monotonic()
        self._status = messages().status(f"{name}: compiling")

    def __enter__(self) -> "Progress":
        if self._status.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def show(self, text: str, picture: str = "") -> None:
        """Says what there is by now.

        Args:
            text: What is said.
            picture: What is added to it on a terminal.
        """
        now = time.monotonic()
        if self._status.console.is_terminal:
            parts = (text, picture, "Ctrl-C ends the search.")
            self._status.update("  ".join(part for part in parts if part))
        elif not self._is_quiet and now > self._last + _SECONDS_BETWEEN_LINES:
            self._last = now
            self._status.console.print(text, soft_wrap=True)
