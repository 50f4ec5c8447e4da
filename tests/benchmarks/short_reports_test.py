"""Reports that a short run makes: all rows are there, and have numbers."""

import re

import pytest

from benchmarks import (
    floor_report,
    isolation_report,
    service_report,
    transition_report,
    vector_report,
)
from benchmarks.vector import WAYS

RATIOS = r"│ \d+\.\d\d +" * len(floor_report.COLUMNS)
CELLS = r" │ +".join([r"[\d,]+ \(\d+\.\d\d\) *"] * len(WAYS))
DURATIONS = r"(\s*│ [\d,]+ / [\d,]+\s*){3}│"


@pytest.mark.parametrize(
    ("module", "words", "rows"),
    [
        (
            service_report,
            "--samples 10",
            [
                rf"│ {row}{DURATIONS}"
                for row in (
                    *("step", "step, observed", "10 steps at once", "reset, program known"),
                    *("fork and its first step", "start of the service, first reset"),
                )
            ],
        ),
        (
            isolation_report,
            "--size 200 --sessions 3 --samples 10 --seconds 0.2",
            [
                *("│ idle step ", r"│ \.\.\. observed ", r"│ \.\.\. and its first step "),
                *("│ reset after a step ", "│ fork after a step "),
                *("│ reset after a pause ", "│ fork after a pause "),
                r"an empty step of a Session: \d+\.\d µs",
                r"the client uses \d+\.\d% of a processor",
                r"two environments, \d\.\d+ times .* one keeps \d\.\d+ .* two \d\.\d+",
                r"count=3, start_ms=\d(?s:.*)wrong=0",
            ],
        ),
        (
            transition_report,
            "--size 200 --episodes 10 --steps 3",
            [
                rf"│ 200 +│ {learner} +│ {analyses} +│ .*% +│ [1-9][0-9,]* +│ \d+ +│ equal +│"
                for learner in ("random", "genetic", "policy")
                for analyses in ("kept", "fresh")
            ],
        ),
        (
            vector_report,
            "--size 200 --count 1 --count 2 --rounds 2 --wrapped",
            [
                *map(re.escape, WAYS),
                rf"│ 200 +│ 1 +│ {CELLS}│",
                rf"│ 200 +│ 2 +│ {CELLS}│",
                r"│ 200 +│ 2 +" + r"│ +[\d,]+ +" * len(WAYS) + "│",
            ],
        ),
        (
            floor_report,
            "--size 200 --episodes 1",
            [
                rf"│ 200 +│ {row} +│ [\d,]+ µs +{RATIOS}"
                for row in (floor_report.WALK, floor_report.IDLE)
            ],
        ),
    ],
    ids=["service", "isolation", "transitions", "vectors", "floor"],
)
def test_everything_is_measured(report, module, words, rows):
    output = report(module.main, *words.split())
    for row in rows:
        assert re.search(row, output), f"{row} in {output}"
    assert "DIFFERENT" not in output
