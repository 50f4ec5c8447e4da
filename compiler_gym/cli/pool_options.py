"""Options and progress bars of commands that use many processors or machines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from compiler_gym.cli.console import messages, progress_bar

if TYPE_CHECKING:
    from compiler_gym.distributed.pool import Limits, Pool

RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS|local",
        help="Use the nodes of a Ray cluster: its address, auto, or local for this machine only.",
        show_default=False,
    ),
]

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def command_pool(ray: str | None, limits: "Limits | None" = None) -> "Iterator[Pool]":
    """Opens the pool of a command, which prints its results after it has closed the pool.

    Until then, Ray's messages about nodes that died go to stderr. Ray prints them to stdout, where
    they would precede the JSON of the command.

    Raises:
        EnvironmentNotSupported: If Ray is to be used, and is not installed.
        PoolError: If there is no such cluster.
    """
    from compiler_gym.distributed.opening import open_pool

    with redirect_stdout(sys.stderr) if ray else nullcontext(), open_pool(ray, limits) as pool:
        yield pool


class PoolProgress:
    """Shows the progress of a pool: a bar on terminals, else a line now and then.

    Args:
        pool: The pool.
        total: The number of tasks.
        noun: The plural name of a task.
    """

    def __init__(self, pool: "Pool", total: int, noun: str):
        self._pool = pool
        self._noun = noun
        self._total = total
        self._begin = self._said = time.monotonic()
        self._ended = 0
        self._bar = progress_bar()
        self._task = self._bar.add_task(noun, total=total)

    def advance(self) -> None:
        """Counts a finished task."""
        self._ended += 1
        self._bar.update(self._task, advance=1, description=self._text())
        now = time.monotonic()
        if self._bar.disable and now - self._said > _SECONDS_BETWEEN_LINES:
            self._said = now
            messages().print(f"{self._ended} of {self._total} {self._text()}")

    def _text(self) -> str:
        stats = self._pool.stats
        rate = stats.done / max(time.monotonic() - self._begin, 1e-3)
        return f"{self._noun}, {rate:.1f}/s, {stats.failed} failed, {stats.workers} workers"

    @contextmanager
    def shown(self) -> Iterator["PoolProgress"]:
        """Shows the progress for the duration of the context."""
        with self._bar:
            yield self
