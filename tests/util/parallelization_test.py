"""Iterators and threads that are shared."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from compiler_gym.util.commands import Popen, commands_of, kill_running_commands, run_command
from compiler_gym.util.llvm_engines import asked_version, use_version
from compiler_gym.util.parallelization import thread_safe_tee
from compiler_gym.util.thread_pool import (
    get_thread_pool_executor,
    map_in_threads,
    stream_in_threads,
    submit,
)
from tests.processes import wait_until


def test_same_values():
    one, two, three = thread_safe_tee((i * i for i in range(4)), n=3)
    assert next(one) == 0
    assert list(two) == [0, 1, 4, 9]
    assert list(one) == [1, 4, 9]
    assert list(three) == [0, 1, 4, 9]
    assert len(thread_safe_tee([])) == 2


def test_threads():
    count, readers = 20_000, 4
    iterators = thread_safe_tee((i for i in range(count)), n=readers)
    with ThreadPoolExecutor(readers) as executor:
        for values in executor.map(list, iterators):
            assert values == list(range(count))


def test_thread_pool():
    executor = get_thread_pool_executor()
    assert get_thread_pool_executor() is executor
    assert list(executor.map(abs, [-1, 2, -3])) == [1, 2, 3]
    assert map_in_threads(abs, [-1, 2, -3]) == map_in_threads(abs, [-1, 2, -3], 1) == [1, 2, 3]


def test_an_error_ends_the_commands_of_other_calls():
    def sleep(seconds):
        if seconds == 0:
            raise LookupError
        run_command(["sleep", str(seconds)])

    with pytest.raises(LookupError):
        map_in_threads(sleep, [0, 1000, 2000], 2)


def test_results_come_as_they_are_ready():
    done = threading.Event()

    def call(item):
        assert item or done.wait(100)
        return item

    results = stream_in_threads(call, [0, 1], 2, in_order=False)
    assert next(results) == 1
    done.set()
    assert list(results) == [0]
    assert list(stream_in_threads(abs, [])) == []


def test_an_early_end_ends_the_commands_of_all_calls():
    results = stream_in_threads(lambda n: run_command(["sleep", str(n)]), [0, 1000, 2000], 2)
    next(results)
    results.close()


def test_calls_have_the_choices_of_the_caller():
    with use_version(99):
        assert map_in_threads(lambda _: asked_version(), [0, 1], 2) == [99, 99]


@pytest.fixture
def nested():
    """A command of calls within a call whose commands have the owner "outer"."""
    started = []

    def sleep(_):
        with Popen(["sleep", "1000"]) as process:
            started.append(process)
            return process.wait()

    with ThreadPoolExecutor(1) as pool:
        with commands_of("outer"):
            call = submit(pool, map_in_threads, sleep, [0, 1], 2)
        wait_until(lambda: len(started) == 2)
        yield call
        kill_running_commands("outer")


def test_commands_of_inner_calls_belong_to_the_outer_owner(nested):
    kill_running_commands("outer")
    assert nested.result() == [-signal.SIGKILL] * 2


def test_an_error_in_other_inner_calls_ends_no_commands(nested):
    def fail(_):
        raise LookupError

    with commands_of("outer"), pytest.raises(LookupError):
        map_in_threads(fail, [0, 1], 2)
    with pytest.raises(TimeoutError):
        nested.result(timeout=0.2)
