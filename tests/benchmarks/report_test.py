import re

import pytest

from benchmarks.report import main
from benchmarks.table import HEADER

STEPS = [
    "step, nothing left to do",
    "10 steps at once, nothing left to do",
    "step of a random walk",
    "step of a random walk without others",
    "10 steps at once of a random walk",
]
MEASUREMENTS = [
    *[step + observing for step in STEPS for observing in ("", ", Autophase + reward")],
    "reset, program known",
    "reset, new program",
    "the first -Oz reward of a new program",
    *[f"fork after {steps} steps" for steps in (0, 10, 40)],
    *[
        f"{name} of a changed program"
        for name in (
            "IrInstructionCount",
            "Autophase",
            "InstCount",
            "IrSha1",
            "Bitcode",
            "Ir",
            "ObjectTextSizeBytes",
        )
    ],
    "start of the service, first reset",
]


def cells_of(table):
    rows = [line.strip("| \n").split(" | ") for line in table if line.startswith("|")]
    assert tuple(rows[0]) == HEADER
    return rows[2:]


def number(text):
    return float(text.replace(",", ""))


def test_every_cell_is_there_and_positive(report, tmp_path):
    path = tmp_path / "table.md"
    printed = report(main, "--quick", "--size", "200", "--output", path)
    text = path.read_text()
    assert printed == text

    rows = cells_of(text.splitlines())
    assert [row[1] for row in rows] == MEASUREMENTS
    for program, _, *durations, median_ratio, mean_ratio in rows:
        assert number(program) == pytest.approx(200, rel=0.15)
        (p50, _, mean), _, (p50_in_process, _, mean_in_process) = values = [
            [*map(number, duration.split(" / "))] for duration in durations
        ]
        assert all(0 < low <= high and mean > 0 for low, high, mean in values)
        assert number(median_ratio) == pytest.approx(p50 / p50_in_process, rel=0.02)
        assert number(mean_ratio) == pytest.approx(mean / mean_in_process, rel=0.02)
    assert re.search(r"\d+ processors, Linux .*, Python 3.*LLVM \d+\.", text)
    assert re.search(r"load average \d+\.\d\d before, \d+\.\d\d after", text)
    assert re.search(r"- \d{3} instructions: build_tree\(\) of huffman", text)


def test_chosen_rows(report):
    arguments = ["--quick", "--size", "200", "--rows", "resets", "--rows", "forks"]
    names = [row[1] for row in cells_of(report(main, *arguments).splitlines())]
    assert names == [name for name in MEASUREMENTS if re.match("reset|fork|the first -Oz", name)]
