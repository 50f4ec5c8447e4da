"""Workers as processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from types import FrameType
from typing import Any

from typing_extensions import override

from compiler_gym.distributed.backend import Backend, Handle, Lost
from compiler_gym.distributed.task import Task
from compiler_gym.distributed.worker import Worker
from compiler_gym.util.held_interrupts import hold_interrupts
from compiler_gym.util.processors import processors

_JOIN_SECONDS = 10
# How long a worker may take to end the programs that its task has started.
_STOP_SECONDS = 3


def _serve(connection: "Connection[Any, Any]") -> None:
    """Serves the calls that come from the pool, until it closes the connection."""
    # The pool decides when the workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, _end_task)
    try:
        _serve_calls(connection)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # The process ends, and cleans up by itself.
    except KeyboardInterrupt:
        os._exit(1)  # Services end by themselves.


def _end_task(number: int, frame: FrameType | None) -> None:
    """Ends the task under way as Ctrl-C ends a command, so that it cleans up."""
    # The pool may send the signal again, which must not end the cleaning up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _serve_calls(connection: "Connection[Any, Any]") -> None:
    calls: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(connection, calls), daemon=True).start()
    worker = Worker()
    while (call := calls.get()) is not None:
        method, arguments = call
        result = getattr(worker, method)(*arguments)
        try:
            connection.send(result)
        except OSError:  # The pool is gone.
            break
    worker.close()


def _read(connection: "Connection[Any, Any]", calls: "SimpleQueue[Any]") -> None:
    """Reads calls while the worker works, so that the pool never waits to send one."""
    try:
        while True:
            calls.put(connection.recv())
    except (EOFError, OSError):
        calls.put(None)


class _Ticket:
    """A call of a process."""

    def __init__(self, handle: "LocalHandle"):
        self.handle = handle


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Blocks Ctrl-C, which goes to all processes of a terminal, while a process is started.

    The new process inherits the blocked signal.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class LocalHandle(Handle):
    """A worker process, which is replaced if it ends."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._tickets: deque[_Ticket] = deque()
        self._open()

    def _open(self) -> None:
        self.connection, other = self._context.Pipe()
        self.process = self._context.Process(target=_serve, args=(other,), daemon=True)
        # The tracker comes first: it unblocks the signal when it starts.
        resource_tracker.ensure_running()
        # This process does not stop halfway.
        with hold_interrupts(), _interrupt_blocked():
            self.process.start()
        other.close()

    @override
    def hello(self) -> object:
        return self._call("hello")

    @override
    def run(self, tasks: Sequence[Task], blobs: Mapping[str, bytes], seconds: float) -> object:
        return self._call("run", [*tasks], dict(blobs), seconds)

    def _call(self, method: str, *arguments: Any) -> _Ticket:
        ticket = _Ticket(self)
        self._tickets.append(ticket)
        with suppress(OSError):  # The process has ended, which take() notices.
            self.connection.send((method, arguments))
        return ticket

    def take(self) -> list[tuple[Any, Any]]:
        """Returns the result of a call that has one. After the end of the process, all are lost."""
        try:
            reply = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(_JOIN_SECONDS)
            lost = Lost(f"the worker process ended with code {self.process.exitcode}")
            tickets = [*self._tickets]
            self.restart()
            return [(each, lost) for each in tickets]
        return [(self._tickets.popleft(), reply)]

    @override
    def restart(self) -> None:
        self.kill()
        self._tickets.clear()
        self._open()

    @override
    def kill(self) -> None:
        self.stop()
        self.process.join(_STOP_SECONDS)
        self.process.kill()
        self.process.join(_JOIN_SECONDS)

    @override
    def stop(self) -> None:
        self.connection.close()
        self.process.terminate()


class LocalBackend(Backend):
    """Starts workers on this machine: one for each processor that this process may use."""

    def __init__(self) -> None:
        self._handles: list[LocalHandle] = []

    @override
    def capacity(self) -> int:
        return processors()

    @override
    def start(self) -> LocalHandle:
        self._handles = [each for each in self._handles if not each.connection.closed]
        self._handles.append(LocalHandle())
        return self._handles[-1]

    @override
    def wait(self, tickets: Sequence[Any], seconds: float) -> list[tuple[Any, Any]]:
        handles = {ticket.handle.connection: ticket.handle for ticket in tickets}
        if not handles:
            return []
        ended: list[tuple[Any, Any]] = []
        for connection in wait([*handles], seconds):
            ended += handles[connection].take()
        return ended

    @override
    def report(self, facts: Mapping[str, float]) -> None:
        pass  # There is nobody to ask for it but the caller, who has them.

    @override
    def close(self) -> None:
        for handle in self._handles:
            handle.stop()
        for handle in self._handles:
            handle.kill()
        self._handles.clear()
