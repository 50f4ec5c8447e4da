"""A process-wide thread pool, calls in threads, and environments for threads."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from compiler_gym.util.commands import commands_of, kill_running_commands, owner_of_commands
from compiler_gym.util.processors import processors

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

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


# Environments for the threads of a pool, because environments are not thread-safe.


class ThreadEnvironments:
    """Creates an environment for each thread on demand.

    Args:
        make_env: Makes an environment.
    """

    def __init__(self, make_env: Callable[[], "CompilerEnv"]):
        self._make_env = make_env
        self._lock = threading.Lock()
        self._local = threading.local()
        self._exit_stack = ExitStack()

    def get(self) -> "CompilerEnv":
        """Returns the environment of the calling thread."""
        if not hasattr(self._local, "env"):
            with self._lock:
                self._local.env = self._make_env()
                self._exit_stack.callback(self._local.env.close)
        return self._local.env

    def close(self) -> None:
        """Closes all environments. No thread may use one any more."""
        self._exit_stack.close()
