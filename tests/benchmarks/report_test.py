import re

import pytest
from typer import Typer
from typer.testing import CliRunner

from benchmarks import report
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


@pytest.fixture(name="app")
def fixture_app():
    app = Typer()
    app.command()(report.main)
    return app


def cells_of(table):
    rows = [line.strip("| \n").split(" | ") for line in table if line.startswith("|")]
    assert tuple(rows[0]) == HEADER
    return rows[2:]


def number(text):
    return float(text.replace(",", ""))


def test_every_cell_is_there_and_positive(app, tmp_path):
    path = tmp_path / "table.md"
    result = CliRunner().invoke(app, ["--quick", "--size", "200", "--output", str(path)])
    assert result.exit_code == 0, result.output
    text = path.read_text()
    assert result.stdout == text

    rows = cells_of(text.splitlines())
    assert [row[1] for row in rows] == MEASUREMENTS
    for program, _, *durations, median_ratio, mean_ratio in rows:
        assert number(program) == pytest.approx(200, rel=0.15)
        assert len(durations) == 3
        for duration in durations:
            p50, p90, mean = map(number, duration.split(" / "))
            assert 0 < p50 <= p90
            assert mean > 0
        assert number(median_ratio) > 0
        assert number(mean_ratio) > 0


def test_header_tells_the_circumstances(app):
    result = CliRunner().invoke(app, ["--quick", "--size", "200"])
    assert result.exit_code == 0, result.output
    assert re.search(r"\d+ processors, Linux .*, Python 3.*LLVM \d+\.", result.stdout)
    assert re.search(r"load average \d+\.\d\d before, \d+\.\d\d after", result.stdout)
    assert re.search(r"- \d{3} instructions: build_tree\(\) of huffman", result.stdout)


def test_chosen_rows(app):
    arguments = ["--quick", "--size", "200", "--rows", "resets", "--rows", "forks"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    names = [row[1] for row in cells_of(result.stdout.splitlines())]
    assert names == [name for name in MEASUREMENTS if re.match("reset|fork|the first -Oz", name)]
