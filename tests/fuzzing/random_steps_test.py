"""A short run of random steps with every pass, see random_steps.py."""

from tests.effort import effort
from tests.fuzzing.random_steps import Stress, find_programs

STEPS = effort(1000, 3000)
SESSIONS = 4


def test_random_steps(tmp_path):
    """Passes crash, and nobody else notices."""
    programs = find_programs(tmp_path, generated=2)
    report = Stress(STEPS, SESSIONS, programs, seed=7, step_seconds=1, at_once=4).run(tmp_path)
    assert report.disturbances == []
    assert report.steps == STEPS
    assert report.sentinel_episodes > 0
    # trigger-crash-module and others do, if steps do what they should.
    assert sum(report.deaths.values()) > effort(3, 10)
