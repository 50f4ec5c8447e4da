"""Items of a command that fail, while its work on the others goes on."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from compiler_gym.cli.console import is_failure, messages
from compiler_gym.util.shell_format import describe_error

logger = logging.getLogger(__name__)

# Of a reason. Crashes of LLVM print whole graphs.
_MOST_LINES = 12


def reason_for(name: str, error: Exception) -> str:
    """Returns why an item failed, and logs the traceback. A defect comes with its class."""
    from compiler_gym.distributed.task import reason_of

    logger.info("%s failed", name, exc_info=error)
    return describe_error(error) if is_failure(error) else reason_of(error)


class Failures:
    """The items of a command that failed.

    Args:
        total: The number of items. If there is only one, its error is raised.
        kinds: The errors that concern an item alone. Others are raised.

    Attributes:
        reasons: The reason by the name of the item.
    """

    def __init__(self, total: int, kinds: tuple[type[Exception], ...] = (Exception,)):
        self.reasons: dict[str, str] = {}
        self._total = total
        self._kinds = kinds

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        """Notes an error about an item."""
        try:
            yield
        except self._kinds as error:
            if self._total == 1:
                raise
            self.reasons[name] = reason_for(name, error)

    def print(self) -> None:
        """Prints the items and the reasons to stderr."""
        for name, reason in self.reasons.items():
            lines = reason.splitlines()
            if len(lines) > _MOST_LINES:
                lines[_MOST_LINES:] = [f"… and {len(lines) - _MOST_LINES} more lines"]
            messages().print(f"{name} failed:", "\n".join(lines), soft_wrap=True)
