"""Workers in this process, for tasks that wait for other processes most of the time."""

import math
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from typing_extensions import override

from compiler_gym.distributed.backend import Backend, Handle, Lost
from compiler_gym.distributed.pool import Limits, Pool
from compiler_gym.distributed.task import Task
from compiler_gym.distributed.worker import Worker
from compiler_gym.util.commands import commands_of, kill_running_commands

_KILL_SECONDS = 0.02


@dataclass(frozen=True)
class Call:
    """The call of a function, which may use everything that this process has.

    Attributes:
        name: The name of the task.
        function: The function. Its argument is the worker.
    """

    name: str
    function: Callable[[Worker], Any]

    def run(self, worker: Worker) -> Any:
        """Calls the function."""
        return self.function(worker)


class _HandleHere(Handle):
    """A worker in this process."""

    _worker: Worker

    @override
    def hello(self) -> object:
        return self._call(self._worker.hello)

    @override
    def run(self, tasks: Sequence[Task], blobs: Mapping[str, bytes], seconds: float) -> object:
        return self._call(lambda: self._worker.run(tasks, blobs, seconds))

    @abstractmethod
    def _call(self, function: Callable[[], Any]) -> object:
        """Asks for a call of a function of the worker. Returns the ticket."""


class ThreadHandle(_HandleHere):
    """A worker in a thread, which is the owner of the commands that its tasks run.

    Args:
        replies: The queue for the results of calls.
    """

    def __init__(self, replies: "SimpleQueue[tuple[object, Any]]"):
        self._replies = replies
        self._open()

    def _open(self) -> None:
        self._worker = Worker(is_here=True)
        self._calls: SimpleQueue[tuple[object, Callable[[], Any]] | None] = SimpleQueue()
        arguments = (self._worker, self._calls)
        self._thread = threading.Thread(target=self._serve, args=arguments, daemon=True)
        self._thread.start()

    def _serve(
        self, worker: Worker, calls: "SimpleQueue[tuple[object, Callable[[], Any]] | None]"
    ) -> None:
        with commands_of(self):
            while (call := calls.get()) is not None and not worker.stop.is_set():
                ticket, function = call
                try:
                    reply = function()
                except BaseException as error:  # Such as SystemExit, which ends a process.
                    reply = Lost(f"the task raised {type(error).__name__}")
                self._replies.put((ticket, reply))
            worker.close()

    @override
    def _call(self, function: Callable[[], Any]) -> object:
        ticket = object()
        self._calls.put((ticket, function))
        return ticket

    @override
    def restart(self) -> None:
        self.kill()
        self._open()

    @override
    def stop(self) -> None:
        self._worker.stop.set()
        self._calls.put(None)

    @override
    def kill(self) -> None:
        self.stop()
        # A task may begin another command after one has been killed.
        while self._thread.is_alive():
            kill_running_commands(self)
            self._thread.join(_KILL_SECONDS)


class ThreadBackend(Backend):
    """Starts workers as threads of this process.

    A thread cannot be killed. Its commands are, and a task that takes long looks at
    :attr:`Worker.stop` now and then.

    Args:
        count: The number of threads.
    """

    is_here = True

    def __init__(self, count: int):
        self._count = count
        self._replies: SimpleQueue[tuple[object, Any]] = SimpleQueue()
        self._handles: list[ThreadHandle] = []

    @override
    def capacity(self) -> int:
        return self._count

    @override
    def start(self) -> ThreadHandle:
        self._handles.append(ThreadHandle(self._replies))
        return self._handles[-1]

    @override
    def wait(self, tickets: Sequence[Any], seconds: float) -> list[tuple[Any, Any]]:
        ended: list[tuple[Any, Any]] = []
        try:
            ended.append(self._replies.get(timeout=seconds))
            while True:
                ended.append(self._replies.get_nowait())
        except Empty:
            return ended

    @override
    def report(self, facts: Mapping[str, float]) -> None:
        pass  # The caller has them.

    @override
    def close(self) -> None:
        for handle in self._handles:
            handle.stop()
        for handle in self._handles:
            handle.kill()
        self._handles.clear()


class CallerHandle(_HandleHere):
    """A worker in the thread that uses the pool.

    Args:
        calls: The queue of the calls.
    """

    def __init__(self, calls: "deque[tuple[object, Callable[[], Any]]]"):
        self._calls = calls
        self._worker = Worker(is_here=True)

    @override
    def _call(self, function: Callable[[], Any]) -> object:
        ticket = object()
        self._calls.append((ticket, function))
        return ticket

    @override
    def restart(self) -> None:
        self.kill()

    @override
    def kill(self) -> None:
        self._calls.clear()  # There is one worker.
        self._worker.close()


class CallerBackend(Backend):
    """Runs tasks in the thread that uses the pool, so that Ctrl-C interrupts the task itself."""

    is_here = True

    def __init__(self) -> None:
        self._calls: deque[tuple[object, Callable[[], Any]]] = deque()
        self._handles: list[CallerHandle] = []

    @override
    def capacity(self) -> int:
        return 1

    @override
    def start(self) -> CallerHandle:
        self._handles.append(CallerHandle(self._calls))
        return self._handles[-1]

    @override
    def wait(self, tickets: Sequence[Any], seconds: float) -> list[tuple[Any, Any]]:
        if not self._calls:
            return []
        ticket, function = self._calls.popleft()
        return [(ticket, function())]

    @override
    def report(self, facts: Mapping[str, float]) -> None:
        pass  # The caller has them.

    @override
    def close(self) -> None:
        for handle in self._handles:
            handle.kill()
        self._handles.clear()


def caller_pool() -> Pool:
    """Returns a pool that runs tasks one by one in this thread, once each."""
    return Pool(CallerBackend(), Limits(tries=1, task_seconds=math.inf))


def thread_pool(count: int) -> Pool:
    """Returns a pool of threads. A task is tried once, and may take any time.

    Args:
        count: The number of threads.
    """
    return Pool(ThreadBackend(count), Limits(tries=1, task_seconds=math.inf))
