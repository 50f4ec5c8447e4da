"""Durations."""

import pytest

from compiler_gym.util import timer as module
from compiler_gym.util.timer import Timer, humanize_duration, humanize_duration_hms


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.000s"),
        (12.3456, "12.346s"),
        (1234.5, "1,234.500s"),
        (1, "1.000s"),
        (0.0015, "1.5ms"),
        (0.1, "100.0ms"),
        (2.5e-6, "2.5us"),
        (3e-9, "3.0ns"),
        (-0.0015, "-1.5ms"),
    ],
)
def test_humanize_duration(seconds, text):
    assert humanize_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00:00"),
        (59.9, "0:00:59"),
        (3723, "1:02:03"),
        (360000, "100:00:00"),
        (-61, "-0:01:01"),
    ],
)
def test_humanize_duration_hms(seconds, text):
    assert humanize_duration_hms(seconds) == text


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

    monkeypatch.setattr(module.time, "perf_counter", lambda: Clock.now)
    return Clock


def test_timer(clock):
    lines = []
    with Timer("Did it", print_fn=lines.append) as timer:
        clock.now += 1.5
        assert timer.time == 1.5
        clock.now += 0.5
    clock.now += 10
    assert timer.time == 2
    assert str(timer) == "2.000s"
    assert lines == ["Did it in 2.000s"]


def test_timer_measures_blocks_that_fail(clock):
    timer = Timer()
    with pytest.raises(KeyError), timer:
        clock.now += 1
        raise KeyError
    clock.now += 1
    assert timer.time == 1
