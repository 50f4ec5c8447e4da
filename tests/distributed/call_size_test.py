"""The number of tasks of a call. The clock is the test's."""

from types import SimpleNamespace

import pytest

from compiler_gym.distributed import call_size
from compiler_gym.distributed.call_size import CallSize


@pytest.fixture
def clock(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(call_size, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


def test_tasks_that_share_a_call(clock):
    size = CallSize(task_seconds=600)
    size.add_task(0.025)
    assert size.tasks(workers=2) == 10
    assert size.tasks(workers=1000) == 80
    clock[0] += 3600  # Long runs have longer calls.
    assert size.tasks(workers=2) == 40
    size.begin_run()
    assert size.tasks(workers=2) == 1


def test_a_call_is_shorter_than_the_limit_of_a_task(clock):
    size = CallSize(task_seconds=1)
    size.add_task(0.025)
    assert size.tasks(workers=1000) == 5
    assert size.time_limit(workers=1000) == pytest.approx(0.5)
