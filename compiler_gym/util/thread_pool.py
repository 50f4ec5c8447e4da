"""A process-wide thread pool, and calls in threads."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from compiler_gym.util.commands import commands_of, kill_running_commands, owner_of_commands
from compiler_gym.util.processors import processors

_KILL_SECONDS = 0.02

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def get_thread_pool_executor() -> ThreadPoolExecutor:
    """Returns the pool of threads of this process, one for each processor.

    Every call returns the same pool. Tasks of the pool must not wait for other tasks of the pool.
    """
    return ThreadPoolExecutor(processors(), "compiler_gym")


def end_calls(futures: Sequence[Future[Any]], owner: object) -> None:
    """Ends calls in threads: those that wait do not begin, and commands are killed until all end.

    Args:
        futures: The calls.
        owner: The owner of their commands.
    """
    for future in futures:
        future.cancel()
    while any(not future.done() for future in futures):
        kill_running_commands(owner)
        time.sleep(_KILL_SECONDS)


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], count: int | None = None
) -> list[Result]:
    """Returns the results of a function for several items, in their order.

    After an error or Ctrl-C, no calls begin, and the commands of those under way are killed.

    Args:
        function: The function. Threads call it at the same time, if there are several items.
        items: The items.
        count: The most threads; None for the number of processors.

    Raises:
        Exception: The error of the first item whose call failed.
    """
    items = list(items)
    threads = min(len(items), processors() if count is None else count)
    if threads <= 1:
        return [function(item) for item in items]
    owner = owner_of_commands() or object()

    def call(item: Item) -> Result:
        with commands_of(owner):
            return function(item)

    with ThreadPoolExecutor(threads, "compiler_gym") as pool:
        futures = [pool.submit(call, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            end_calls(futures, owner)
            raise
