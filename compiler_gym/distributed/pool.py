"""The scheduler of tasks on workers, which may end at any time."""

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from typing_extensions import Self

from compiler_gym.distributed.backend import Backend, Handle, Lost, PoolError
from compiler_gym.distributed.call_size import CallSize
from compiler_gym.distributed.task import Job, Outcome, Reply
from compiler_gym.distributed.worker import Hello, hello

_POLL_SECONDS = 0.2
_REVIEW_SECONDS = 2.0
_CALLS_IN_FLIGHT = 2
_START_FAILURES = 3


@dataclass(frozen=True)
class Limits:
    """The limits of a pool.

    Attributes:
        workers: The largest number of workers; None for one on each processor.
        tries: How often a task is started before it counts as failed.
        task_seconds: The longest time for a task.
        start_seconds: How long to wait for the first worker, or for one after all have been lost.
    """

    workers: int | None = None
    tries: int = 3
    task_seconds: float = 600
    start_seconds: float = 120


@dataclass
class Stats:
    """Counts of what a pool has done.

    Attributes:
        done: Tasks with a result.
        failed: Tasks without one.
        repeated: Runs of tasks that were lost with their worker, or failed and were run again.
        restarts: Workers that were replaced.
        workers: Workers that are ready now.
        queued: Tasks that the pool holds and no worker has yet.
        running: Tasks that workers have.
        seconds: Time that tasks took, all together.
        abandoned: Tasks that had begun, and have no outcome, since the last run ended before.
    """

    done: int = 0
    failed: int = 0
    repeated: int = 0
    restarts: int = 0
    workers: int = 0
    queued: int = 0
    running: int = 0
    seconds: float = 0.0
    abandoned: int = 0


@dataclass
class _Attempt:
    """A task, and how often it has been started.

    A task that is alone has a call of its own, and its worker has no other call at that time.
    """

    job: Job
    tries: int = 0
    is_alone: bool = False
    error: str = ""
    details: str = ""


@dataclass(eq=False)
class _Call:
    """Tasks that were sent to a worker together."""

    ticket: Any
    attempts: list[_Attempt]

    @property
    def is_alone(self) -> bool:
        return self.attempts[0].is_alone


@dataclass(eq=False)
class _Worker:
    """A worker as the pool knows it.

    Attributes:
        handle: Its process.
        greeting: The ticket of the question for its facts; None once it has answered.
        node: Its machine.
        calls: Its calls in their order. It works on the first.
        since: When it began with that.
        suspect: The call that it worked on when it was lost.
        is_certain: Whether it had no other call then.
    """

    handle: Handle
    greeting: Any = None
    node: str = ""
    calls: deque[_Call] = field(default_factory=deque)
    since: float = math.inf
    suspect: _Call | None = None
    is_certain: bool = False

    def has_room(self, depth: int) -> bool:
        """Returns true if there is room for a call, while each worker has at most so many."""
        is_taken = len(self.calls) != depth or any(call.is_alone for call in self.calls)
        return self.greeting is None and not is_taken


class Pool:
    """Runs tasks on workers.

    A worker that ends is replaced, and what it had is run again elsewhere. A task that fails or
    takes too long is run again too, until it has had all its tries. So there is one outcome for
    each task. Use the pool as a context manager: it ends its workers.

    Args:
        backend: Starts the workers. The pool closes it.
        limits: The limits.

    Attributes:
        stats: Counts of what was done.
    """

    def __init__(self, backend: Backend, limits: Limits | None = None):
        self.stats = Stats()
        self._backend = backend
        self._limits = limits or Limits()
        self._workers: list[_Worker] = []
        self._queue: deque[_Attempt] = deque()
        # Whose result comes with a ticket: that of a call, or of a greeting.
        self._waiting: dict[Any, tuple[_Worker, _Call | None]] = {}
        self._call_size = CallSize(self._limits.task_seconds)
        self._start_failures = 0
        self._was_ready = False
        self._reviewed = -math.inf
        self._ready_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills the workers, and ends the backend. Tasks under way have no outcome."""
        self._workers.clear()
        self._waiting.clear()
        self._backend.close()

    def capacity(self) -> int:
        """Returns how many workers there is room for now, but for the limit."""
        return min(self._backend.capacity(), self._limits.workers or sys.maxsize)

    def run(self, jobs: Iterable[Job], end: float = math.inf) -> Generator[Outcome, None, None]:
        """Runs tasks.

        Args:
            jobs: The tasks. They are taken one by one, when workers have room for them.
            end: When to give up tasks that have no outcome yet, by :func:`time.monotonic`.

        Yields:
            The outcome of each task, in the order in which they end. To close the iterator before
            its end kills the workers that have tasks.

        Raises:
            PoolError: If there are no workers, or they have another version of the package.
        """
        source = iter(jobs)
        self._call_size.begin_run()
        self._ready_at = time.monotonic()
        try:
            while self._feed(source) or self._queue or self.stats.running:
                if time.monotonic() >= end:
                    return
                self._review()
                for ticket, reply in self._backend.wait([*self._waiting], _POLL_SECONDS):
                    yield from self._take(ticket, reply)
                yield from self._end_late_calls()
                self._check_that_workers_are_left()
        finally:
            self._abandon()
            self._publish()

    # Workers.

    def _review(self) -> None:
        """Starts as many workers as there is room for, now and then."""
        now = time.monotonic()
        if now - self._reviewed < _REVIEW_SECONDS:
            return
        self._reviewed = now
        wanted = self.capacity()
        for worker in [each for each in self._workers if each.greeting is not None]:
            # Ray keeps an actor waiting for a place for ever. It may get one on a new node.
            if len(self._workers) > max(wanted, 1) and not worker.calls:
                self._drop(worker)
        while len(self._workers) < wanted:
            self._start()
        self._publish()

    def _start(self) -> None:
        worker = _Worker(self._backend.start())
        self._workers.append(worker)
        self._ask(worker)

    def _ask(self, worker: _Worker) -> None:
        """Gives a worker nothing to do until it has said that it is there."""
        worker.greeting = worker.handle.hello()
        self._waiting[worker.greeting] = worker, None

    def _drop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        for ticket in [key for key, (other, _) in self._waiting.items() if other is worker]:
            del self._waiting[ticket]
        worker.handle.kill()

    def _publish(self) -> None:
        self.stats.queued = len(self._queue)
        self.stats.workers = sum(each.greeting is None for each in self._workers)
        self._backend.report(vars(self.stats))

    def _check_that_workers_are_left(self) -> None:
        now = time.monotonic()
        if any(each.greeting is None for each in self._workers):
            self._ready_at = now
        elif now - self._ready_at > self._limits.start_seconds:
            raise PoolError(
                f"expected a worker within {self._limits.start_seconds:g} s, found none: there is "
                f"room for {self._backend.capacity()}; try fewer workers or start more nodes"
            )

    def _greet(self, worker: _Worker, answer: Hello) -> None:
        mine = hello()
        for what, here, there in (
            ("compiler_gym", mine.version, answer.version),
            ("Python", mine.python, answer.python),
        ):
            if here != there:
                raise PoolError(
                    f"expected {what} {here} on every node, found {there} on {answer.node}; "
                    "try to install the same wheels there"
                )
        worker.greeting, worker.node = None, answer.node
        self._was_ready = True

    def _lose_starting(self, worker: _Worker, reason: str) -> None:
        """Gives up a worker that has ended before it was ready. The next review starts another."""
        self._start_failures += 1
        if self._start_failures >= _START_FAILURES and not self._was_ready:
            raise PoolError(f"expected workers to start, but they end at once: {reason}")
        if worker.calls:  # Which have not been lost yet, or are not going to be.
            self._ask(worker)
        else:
            self._drop(worker)

    # Calls.

    def _feed(self, source: Iterator[Job]) -> bool:
        """Gives tasks to workers with room for them; whether there may be more of them."""
        calls = 1 if self._backend.is_here else _CALLS_IN_FLIGHT
        for depth in range(calls):  # All get one call before any gets two.
            for worker in self._workers:
                if worker.has_room(depth):
                    chunk = self._next_chunk(source, may_be_alone=depth == 0)
                    if not chunk:
                        return False
                    self._send(worker, chunk)
        return True

    def _next_chunk(self, source: Iterator[Job], may_be_alone: bool) -> list[_Attempt]:
        """Takes the tasks of the next call; none if the next task has to wait for a worker."""
        count = 1 if self._backend.is_here else self._call_size.tasks(len(self._workers))
        chunk: list[_Attempt] = []
        while len(chunk) < count:
            attempt = self._queue.popleft() if self._queue else self._taken_from(source)
            if attempt is None:
                break
            if attempt.is_alone and (chunk or not may_be_alone):
                self._queue.appendleft(attempt)
                break
            chunk.append(attempt)
            if attempt.is_alone:
                break
        return chunk

    @staticmethod
    def _taken_from(source: Iterator[Job]) -> _Attempt | None:
        job = next(source, None)
        return None if job is None else _Attempt(job)

    def _send(self, worker: _Worker, chunk: list[_Attempt]) -> None:
        blobs: dict[str, bytes] = {}
        for attempt in chunk:
            blobs |= attempt.job.blobs
        seconds = self._call_size.time_limit(len(self._workers))
        ticket = worker.handle.run([attempt.job.task for attempt in chunk], blobs, seconds)
        if not worker.calls:
            worker.since = time.monotonic()
        worker.calls.append(call := _Call(ticket, chunk))
        self._waiting[ticket] = worker, call
        self.stats.running += len(chunk)

    def _take(self, ticket: Any, reply: Any) -> Iterator[Outcome]:
        """Takes the result of a call or a greeting."""
        worker, call = self._waiting.pop(ticket, (None, None))
        if worker is None:
            return  # Of a worker that was killed meanwhile.
        if call is not None:
            yield from self._end_call(worker, call, reply)
        elif isinstance(reply, Lost):
            self._lose_starting(worker, reply.reason)
        else:
            self._greet(worker, reply)

    def _end_call(self, worker: _Worker, call: _Call, reply: Any) -> Iterator[Outcome]:
        if isinstance(reply, Lost) and worker.greeting is None:
            worker.suspect, worker.is_certain = worker.calls[0], len(worker.calls) == 1
            self._ask(worker)
            self.stats.restarts += 1
        worker.calls.remove(call)
        worker.since = time.monotonic()
        self.stats.running -= len(call.attempts)
        if isinstance(reply, Lost):
            was_running = call is worker.suspect
            yield from self._lose(
                call.attempts, worker, reply.reason, was_running, was_running and worker.is_certain
            )
            return
        self._queue.extendleft(reversed(call.attempts[len(reply) :]))
        for attempt, each in zip(call.attempts, reply, strict=False):
            yield from self._end_attempt(attempt, worker, each)

    def _lose(
        self,
        attempts: Sequence[_Attempt],
        worker: _Worker,
        reason: str,
        was_running: bool,
        is_certain: bool,
    ) -> Iterator[Outcome]:
        """Has tasks run again whose worker is gone.

        Nobody knows which task of several ended the worker, if any: the reply of a call may be
        lost because the next call has ended the worker. So each gets a call of its own, and only
        a task that was alone counts the try.
        """
        if is_certain and len(attempts) == 1:
            yield from self._end_attempt(attempts[0], worker, Reply(error=reason))
            return
        for attempt in reversed(attempts):
            attempt.is_alone = attempt.is_alone or was_running
            self._queue.appendleft(attempt)
        self.stats.repeated += len(attempts)

    def _end_attempt(self, attempt: _Attempt, worker: _Worker, reply: Reply) -> Iterator[Outcome]:
        attempt.tries += 1
        self.stats.seconds += reply.seconds
        if reply.error is None:
            self._call_size.add_task(reply.seconds)
            self.stats.done += 1
        elif not reply.is_final and attempt.tries < self._limits.tries:
            self.stats.repeated += 1
            self._queue.append(replace(attempt, is_alone=True))
            return
        else:
            self.stats.failed += 1
        yield Outcome(
            attempt.job.task,
            reply.value,
            reply.error,
            reply.details,
            attempt.tries,
            worker.node,
            reply.seconds,
            reply.exception,
        )

    def _end_late_calls(self) -> Iterator[Outcome]:
        """Restarts workers whose call takes too long."""
        end = time.monotonic() - self._limits.task_seconds
        reason = f"the task took longer than {self._limits.task_seconds:g} s"
        for worker in self._workers:
            if worker.calls and worker.greeting is None and worker.since < end:
                for index, call in enumerate(self._restart(worker)):
                    is_late = index == 0
                    yield from self._lose(call.attempts, worker, reason, is_late, is_late)

    def _restart(self, worker: _Worker) -> list[_Call]:
        """Replaces the process of a worker, and returns the calls that it had."""
        calls = [*worker.calls]
        worker.calls.clear()
        for call in calls:
            self._waiting.pop(call.ticket, None)
            self.stats.running -= len(call.attempts)
        if worker.greeting is not None:
            self._waiting.pop(worker.greeting, None)
        worker.handle.restart()
        self._ask(worker)
        self.stats.restarts += 1
        return calls

    def _abandon(self) -> None:
        """Forgets the tasks that have no outcome yet, and ends the workers that have them."""
        self._queue.clear()
        self.stats.abandoned, self.stats.running = self.stats.running, 0
        busy = [each for each in self._workers if each.calls]
        for worker in busy:
            worker.handle.stop()
        for worker in busy:
            self._drop(worker)
            self._reviewed = -math.inf


def in_order(
    pool: Pool, jobs: Iterable[Job], watch: Callable[[Outcome], None] = lambda _: None
) -> Generator[Outcome, None, None]:
    """Runs tasks, and yields the outcomes in the order of the tasks.

    Args:
        pool: The pool.
        jobs: The tasks. Those of the same name are the same task.
        watch: Called with the outcomes as they come.
    """
    names: deque[str] = deque()
    ended: dict[str, list[Outcome]] = {}

    def named() -> Iterator[Job]:
        for job in jobs:
            names.append(job.task.name)
            yield job

    with closing(pool.run(named())) as outcomes:
        for outcome in outcomes:
            ended.setdefault(outcome.task.name, []).append(outcome)
            watch(outcome)
            while names and ended.get(names[0]):
                yield ended[names.popleft()].pop()


def new_jobs(jobs: Iterable[Job], known: set[str], watch: Callable[[None], None]) -> Iterator[Job]:
    """Yields the jobs whose tasks are not known, each once.

    Args:
        jobs: The jobs.
        known: The names of known tasks. Those of the jobs are added.
        watch: Called for each job that is left out.
    """
    for job in jobs:
        if job.task.name in known:
            watch(None)
        else:
            known.add(job.task.name)
            yield job


def summary(stats: Stats) -> dict[str, int]:
    """Returns the counts that a report shows."""
    return {
        "done": stats.done,
        "failed": stats.failed,
        "repeated": stats.repeated,
        "restarts": stats.restarts,
    }
