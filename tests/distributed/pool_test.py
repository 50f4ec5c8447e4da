"""Pools of processes of this machine."""

import dataclasses
import multiprocessing
import sys
import threading
import time

import pytest

from compiler_gym.distributed import Job, Limits, PoolError, local, open_pool
from compiler_gym.distributed import pool as pool_module
from compiler_gym.distributed.pool import in_order
from compiler_gym.distributed.task import digest_of
from compiler_gym.distributed.threads import Call, caller_pool, thread_pool
from compiler_gym.distributed.worker import Worker
from compiler_gym.util.commands import CommandError, run_command
from tests.distributed.tasks import (
    Blob,
    CleaningUp,
    Deadly,
    Failing,
    Hanging,
    Square,
    Unpicklable,
)

LIMITS = Limits(workers=2, tries=2)


@pytest.fixture(name="pool", scope="module")
def fixture_pool():
    with open_pool(limits=LIMITS) as pool:
        yield pool


def outcomes(pool, tasks):
    return {each.task: each for each in pool.run(map(Job, tasks))}


def test_each_task_has_one_outcome(pool):
    tasks = [Square(number) for number in range(1000)]
    found = [*pool.run(map(Job, tasks))]
    assert sorted(each.value for each in found) == [number**2 for number in range(1000)]
    assert {each.tries for each in found} == {1}
    assert pool.stats.running == pool.stats.queued == 0


def test_jobs_are_taken_when_there_is_room(pool):
    taken = []

    def jobs():
        for number in range(10_000):
            taken.append(number)
            yield Job(Square(number))

    running = pool.run(jobs())
    next(running)
    assert len(taken) < 10
    running.close()
    (outcome,) = pool.run([Job(Square(7))])  # Nothing is left of the others.
    assert outcome.value == 49


def test_data_comes_with_a_task(pool):
    data = b"x" * 1_000_000
    job = Job(Blob(1, digest_of(data)), {digest_of(data): data})
    (outcome,) = pool.run([job])
    assert outcome.value == data


def test_a_worker_ends_a_call_after_a_while():
    (reply,) = Worker().run([*map(Square, range(3))], {}, seconds=-1)
    assert reply.value == 0


def test_a_dead_worker_loses_nothing(pool, tmp_path):
    before = dataclasses.replace(pool.stats)
    deadly = Deadly(3, str(tmp_path / "mark"))
    tasks = [*map(Square, range(50)), deadly, *map(Square, range(50, 100))]
    found = outcomes(pool, tasks)
    assert {task.number: each.value for task, each in found.items() if task is not deadly} == {
        number: number**2 for number in range(100)
    }
    assert found[deadly].value == 9
    assert pool.stats.restarts > before.restarts
    assert pool.stats.repeated > before.repeated
    assert pool.stats.failed == before.failed


def test_a_task_that_kills_its_workers_fails(pool):
    found = outcomes(pool, [Deadly(1), *map(Square, range(20))])
    failed = found.pop(Deadly(1))
    assert failed.error == "the worker process ended with code -9"
    assert failed.tries == 2
    assert all(each.value == task.number**2 for task, each in found.items())


def test_exceptions(pool):
    found = outcomes(pool, [Failing(1), Failing(2, is_final=True), Square(3)])
    assert found[Failing(1)].error == "OSError: number 1"
    assert found[Failing(1)].tries == 2
    assert found[Failing(2, True)].error == "ValueError: number 2"
    assert found[Failing(2, True)].tries == 1
    assert "tasks.py" in found[Failing(2, True)].details
    assert found[Square(3)].value == 9


def test_a_result_that_cannot_be_pickled(pool):
    restarts = pool.stats.restarts
    found = outcomes(pool, [Unpicklable(1), Square(2)])
    assert "expected a result that can be pickled, got function" in found[Unpicklable(1)].error
    assert found[Square(2)].value == 4
    assert pool.stats.restarts == restarts


def test_a_task_that_takes_too_long_fails():
    with open_pool(limits=Limits(workers=1, tries=1, task_seconds=2)) as pool:
        found = outcomes(pool, [Hanging(1), Square(2)])
    assert found[Hanging(1)].error == "the task took longer than 2 s"
    assert found[Square(2)].value == 4


def test_tasks_clean_up_although_they_are_told_twice_to_end(tmp_path):
    mark = tmp_path / "clean"
    with open_pool(limits=Limits(workers=1, tries=1, task_seconds=1)) as pool:
        (outcome,) = pool.run([Job(CleaningUp(1, str(mark)))])
    assert outcome.error and mark.exists()


def test_closing_leaves_no_process():
    with open_pool(limits=LIMITS) as pool:
        assert next(pool.run([Job(Square(2))])).value == 4
        processes = [each.process for each in pool._backend._handles]
        assert processes
    assert not any(each.is_alive() for each in processes)


def test_workers_that_never_start_are_an_error(monkeypatch):
    monkeypatch.setattr(local, "_serve", print)
    monkeypatch.setattr(pool_module, "_REVIEW_SECONDS", 0.0)
    with open_pool(limits=LIMITS) as pool, pytest.raises(PoolError, match="they end at once"):
        next(pool.run([Job(Square(2))]))


def test_an_error_of_a_call_is_not_taken_for_a_closed_pool(monkeypatch):
    def fail(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(local.Worker, "hello", fail)
    ours, theirs = multiprocessing.Pipe()
    ours.send(("hello", ()))
    with pytest.raises(OSError, match="No space left"):
        local._serve_calls(theirs)


def test_a_node_with_another_version_is_an_error(monkeypatch):
    mine = pool_module.hello()
    monkeypatch.setattr(pool_module, "hello", lambda: dataclasses.replace(mine, version="9.9"))
    with (
        open_pool(limits=LIMITS) as pool,
        pytest.raises(PoolError, match=r"9\.9"),
    ):
        next(pool.run([Job(Square(2))]))


def test_threads_of_this_process():
    with thread_pool(2) as pool:
        found = outcomes(pool, [Failing(1), Unpicklable(2), *map(Square, range(3, 100))])
        assert (found[Failing(1)].error, found[Failing(1)].tries) == ("OSError: number 1", 1)
        with pytest.raises(OSError, match="number 1"):
            found[Failing(1)].result()
        assert found[Unpicklable(2)].result()() == 2
        assert all(found[Square(number)].result() == number**2 for number in range(3, 100))
        (outcome,) = pool.run([Job(Call("exits", lambda worker: sys.exit(1)))])
        assert outcome.error == "the task raised SystemExit"
        (outcome,) = pool.run([Job(Square(7))])
        assert outcome.result() == 49


def test_threads_end_the_commands_of_their_tasks():
    killed = []

    def sleep(worker):
        for _ in range(3):  # A task may go on after one command was killed.
            with pytest.raises(CommandError):
                run_command(["sleep", "1000"])
            killed.append(worker.stop.is_set())

    with thread_pool(2) as pool:
        end = time.monotonic() + 0.1
        assert [*pool.run([Job(Call("sleeps", sleep))] * 3, end)] == []
        assert pool.stats.abandoned == 2
        assert killed == [True] * 6
        (outcome,) = pool.run([Job(Square(7))])
        assert outcome.result() == 49


def test_tasks_of_the_calling_thread_are_interrupted():
    def interrupt(worker):
        raise KeyboardInterrupt

    with caller_pool() as pool:
        found = outcomes(pool, [Failing(1), Square(3)])
        assert (found[Failing(1)].error, found[Square(3)].value) == ("OSError: number 1", 9)
        with pytest.raises(KeyboardInterrupt):
            [*pool.run([Job(Call("interrupts", interrupt))])]
        (outcome,) = pool.run([Job(Square(7))])
        assert outcome.result() == 49


def test_results_in_order_of_tasks_of_which_some_are_the_same():
    later = threading.Event()
    ends = []
    jobs = [
        Job(Call("slow", lambda worker: later.wait(60))),
        *[Job(Call("same", lambda worker: 2))] * 2,
        Job(Call("last", lambda worker: later.set())),
    ]
    with thread_pool(2) as pool:
        found = [*in_order(pool, jobs, lambda outcome: ends.append(outcome.task.name))]
    assert [each.value for each in found] == [True, 2, 2, None]
    assert ends[:2] == ["same", "same"]
