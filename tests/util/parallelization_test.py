"""Iterators and threads that are shared."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from compiler_gym.util.commands import run_command
from compiler_gym.util.parallelization import thread_safe_tee
from compiler_gym.util.thread_pool import get_thread_pool_executor, map_in_threads


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


def test_map_in_threads():
    assert map_in_threads(abs, [-1, 2, -3]) == map_in_threads(abs, [-1, 2, -3], 1) == [1, 2, 3]


def test_an_error_ends_the_commands_of_other_calls():
    def sleep(seconds):
        if seconds == 0:
            raise LookupError
        run_command(["sleep", str(seconds)])

    with pytest.raises(LookupError):
        map_in_threads(sleep, [0, 1000, 2000], 2)
