"""The order of events in a pool, whose processes are played by the test."""

from collections import deque
from types import SimpleNamespace

import pytest

from compiler_gym.distributed import Job, Limits, Pool, call_size
from compiler_gym.distributed import pool as pool_module
from compiler_gym.distributed.backend import Backend, Handle, Lost
from compiler_gym.distributed.task import Reply
from compiler_gym.distributed.worker import hello
from tests.distributed.tasks import Square


class PlayedHandle(Handle):
    """A process that does what its script says, call by call: reply, or be lost."""

    def __init__(self, backend):
        self.backend = backend
        self.is_killed = False

    def hello(self):
        return self.backend.add(self, hello())

    def run(self, tasks, blobs, seconds):
        return self.backend.add(self, [Reply(task.run(None)) for task in tasks])

    def restart(self):
        pass

    def kill(self):
        self.is_killed = True


class PlayedBackend(Backend):
    """Calls end one by one, in the order of the script of "ok" and "lost"; then all are ok."""

    def __init__(self, script="", room=1):
        self.script = deque(script.split())
        self.room = room
        self.replies = {}
        self.handles = []
        self.order = []
        self.facts = {}

    def add(self, handle, reply):
        ticket = object()
        is_lost = bool(self.script) and self.script.popleft() == "lost"
        self.replies[ticket] = Lost("gone") if is_lost else reply
        self.order.append(ticket)
        return ticket

    def capacity(self):
        return self.room

    def start(self):
        self.handles.append(PlayedHandle(self))
        return self.handles[-1]

    def wait(self, tickets, seconds):
        for ticket in self.order:
            if ticket in tickets and ticket in self.replies:
                return [(ticket, self.replies.pop(ticket))]
        return []

    def report(self, facts):
        self.facts = dict(facts)

    def close(self):
        pass


@pytest.fixture(autouse=True)
def always_review(monkeypatch):
    monkeypatch.setattr(pool_module, "_REVIEW_SECONDS", 0.0)


def squares(pool, count=6):
    found = [*pool.run(Job(Square(number)) for number in range(count))]
    assert sorted(each.value for each in found if each.error is None) == [
        number**2 for number in range(count) if number not in failed_of(found)
    ]
    assert pool.stats.running == 0
    return found


def failed_of(found):
    return {each.task.number for each in found if each.error is not None}


@pytest.mark.parametrize(
    "script",
    [
        "ok lost",  # The first call.
        "ok ok lost",  # The second, which the worker had not begun.
        "ok lost lost",  # Both.
        "ok lost ok lost",  # And the greeting after that, while a call is left.
        "ok lost lost lost lost ok lost",
        "lost ok",  # The first greeting.
    ],
)
def test_lost_calls_are_run_again(script):
    pool = Pool(PlayedBackend(script), Limits(tries=5))
    assert not failed_of(squares(pool))


@pytest.mark.parametrize("tries", [1, 2])
def test_only_a_task_that_was_alone_counts_a_try(tries, monkeypatch):
    """A worker that is ended by its second call, again and again, loses the reply of the first."""
    deadly = 1

    class Deadly(PlayedHandle):
        """A process that a task ends, together with what it has said last."""

        def run(self, tasks, blobs, seconds):
            ticket = super().run(tasks, blobs, seconds)
            if any(task.number == deadly for task in tasks):
                for each in (*self.unread, ticket):
                    self.backend.replies[each] = Lost("gone")
            self.unread = [ticket]
            return ticket

        unread: tuple = ()

    backend = PlayedBackend()
    monkeypatch.setattr(backend, "start", lambda: Deadly(backend))
    found = squares(Pool(backend, Limits(tries=tries)))
    assert [(each.task.number, each.tries) for each in found if each.error] == [(deadly, tries)]


def test_the_rest_of_a_call_that_ended_early_runs_again(monkeypatch):
    class Early(PlayedHandle):
        """A process that ends each call after its first task."""

        def run(self, tasks, blobs, seconds):
            return super().run(tasks[:1], blobs, seconds)

    backend = PlayedBackend()
    monkeypatch.setattr(backend, "start", lambda: Early(backend))
    assert not failed_of(squares(Pool(backend), 100))


def test_a_worker_without_room_is_given_up_only_without_calls():
    backend = PlayedBackend("ok ok ok lost", room=2)
    pool = Pool(backend, Limits(tries=3))
    running = pool.run(Job(Square(number)) for number in range(20))
    found = [next(running)]
    backend.room = 1
    found += running
    assert sorted(each.value for each in found) == [number**2 for number in range(20)]


def test_a_node_that_joins_gets_workers():
    backend = PlayedBackend(room=1)
    pool = Pool(backend)
    running = pool.run(Job(Square(number)) for number in range(20))
    next(running)
    backend.room = 3
    assert len([*running]) == 19
    assert len(backend.handles) == 3


def test_calls_have_enough_work(monkeypatch):
    now = 0.0
    calls = []

    class Clocked(PlayedHandle):
        """A process whose tasks take a tenth of a second."""

        def run(self, tasks, blobs, seconds):
            nonlocal now
            calls.append((now, len(tasks)))
            now += len(tasks) / 10
            return self.backend.add(self, [Reply(1, seconds=0.1) for _ in tasks])

    backend = PlayedBackend()
    monkeypatch.setattr(backend, "start", lambda: Clocked(backend))
    for module in pool_module, call_size:
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    assert len([*Pool(backend).run(Job(Square(number)) for number in range(1000))]) == 1000
    assert [count for _, count in calls[:4]] == [1, 1, 2, 2]  # Of unknown time, then measured.
    assert max(count for begin, count in calls if begin < 12) == 2
    assert max(count for begin, count in calls) == 10


def test_abandoned_jobs_are_killed():
    backend = PlayedBackend()
    pool = Pool(backend)
    running = pool.run(Job(Square(number)) for number in range(20))
    next(running)
    running.close()
    assert backend.handles[0].is_killed
    assert not failed_of(squares(pool))
