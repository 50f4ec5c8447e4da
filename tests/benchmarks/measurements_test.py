import pytest

from benchmarks.measurements import Measurements, Summary


def test_everybody_begins_as_often():
    measurements = Measurements()
    order = []

    def job(name):
        return lambda: order.append(name) or 1.0

    jobs = {("step", name): job(name) for name in "abc"}
    for _ in range(3):
        measurements.take_turns(jobs)
    assert "".join(order) == "abcbcacab"
    assert all(s.samples == 3 for s in measurements.summaries()["step"].values())


def test_several_times_in_a_row():
    measurements = Measurements()
    order = []
    jobs = {("step", name): lambda name=name: order.append(name) or 1.0 for name in "ab"}
    for _ in range(2):
        measurements.take_turns(jobs, times=3)
    assert "".join(order) == "aaabbbbbbaaa"
    assert measurements.summaries()["step"]["a"].samples == 6


@pytest.mark.parametrize(
    "durations, summary",
    [
        ([7.0], Summary(7, 7, 7, 1)),
        ([3.0, 1.0, 2.0], Summary(2, pytest.approx(2.8), 2, 3)),
        ([float(i) for i in range(101)], Summary(50, 90, 50, 101)),
    ],
)
def test_percentiles(durations, summary):
    measurements = Measurements()
    for duration in durations:
        measurements.take_turns({("row", "column"): lambda duration=duration: duration})
    assert measurements.summaries() == {"row": {"column": summary}}


def test_a_failing_job_is_not_hidden():
    def fail():
        raise RuntimeError("the compiler failed")

    with pytest.raises(RuntimeError, match="the compiler failed"):
        Measurements().take_turns({("row", "column"): fail})
