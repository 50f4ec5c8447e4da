import pytest

from benchmarks.measurements import Measurements, Summary


@pytest.mark.parametrize(
    ("names", "rounds", "times", "expected"),
    [("abc", 3, 1, "abcbcacab"), ("ab", 2, 3, "aaabbbbbbaaa")],
)
def test_everybody_begins_as_often(names, rounds, times, expected):
    measurements = Measurements()
    order = []

    def job(name):
        return lambda: order.append(name) or 1.0

    jobs = {("step", name): job(name) for name in names}
    for _ in range(rounds):
        measurements.take_turns(jobs, times)
    assert "".join(order) == expected
    assert {s.samples for s in measurements.summaries()["step"].values()} == {rounds * times}


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
