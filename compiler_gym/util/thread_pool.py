"""A process-wide thread pool, and calls in threads."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from compiler_gym.util.commands import commands_of, kill_running_commands
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


def submit(pool: ThreadPoolExecutor, function: Callable[..., Result], *args: Any) -> Future[Result]:
    """Asks a pool for a call with the caller's choices.

    These are the version of LLVM and the owners of commands, among others: a thread of the pool
    has none of its own.

    Args:
        pool: The pool.
        function: The function.
        *args: Its arguments.
    """
    return pool.submit(copy_context().run, function, *args)


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
    if min(len(items), processors() if count is None else count) <= 1:
        return [function(item) for item in items]
    return list(stream_in_threads(function, items, count))


def stream_in_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    count: int | None = None,
    *,
    in_order: bool = True,
) -> Generator[Result, None, None]:
    """Yields the results of a function for several items, as :func:`map_in_threads` returns them.

    When the iterator is closed early, after an error or Ctrl-C, no calls begin, and the commands of
    those under way are killed. All calls have ended then.

    Args:
        function: The function. Threads call it at the same time, also if there is one item.
        items: The items. All are read before the first call.
        count: The most threads; None for the number of processors.
        in_order: Whether to yield results in the order of the items. If not, they are yielded as
            they come.

    Raises:
        Exception: The error of a call, in place of its result.
    """
    items = list(items)
    owner = object()
    threads = min(len(items), processors() if count is None else count)
    with ThreadPoolExecutor(max(threads, 1), "compiler_gym") as pool:
        with commands_of(owner):
            futures = [submit(pool, function, item) for item in items]
        try:
            for future in futures if in_order else as_completed(futures):
                yield future.result()
        finally:
            end_calls(futures, owner)
