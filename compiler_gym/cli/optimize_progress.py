"""Progress messages of ``compiler-gym optimize``."""

import time

from compiler_gym.cli.console import messages

_SECONDS_BETWEEN_LINES = 5


class Progress:
    """Shows the progress of a search: in one line on terminals, else in a new line now and then.

    Args:
        name: The name of the result.
        is_quiet: Show progress on terminals only.
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
        """Shows the current state.

        Args:
            text: The message.
            picture: An addition for terminals.
        """
        now = time.monotonic()
        if self._status.console.is_terminal:
            parts = (text, picture, "Ctrl-C ends the search.")
            self._status.update("  ".join(part for part in parts if part))
        elif not self._is_quiet and now > self._last + _SECONDS_BETWEEN_LINES:
            self._last = now
            self._status.console.print(text, soft_wrap=True)
