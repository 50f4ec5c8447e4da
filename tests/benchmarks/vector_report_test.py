import re

import pytest
from typer import Typer
from typer.testing import CliRunner

from benchmarks import vector_report
from benchmarks.vector import LOOP, VECTOR, WAYS, median_ratio, steps_per_second


def run(*arguments: str):
    app = Typer()
    app.command()(vector_report.main)
    return CliRunner().invoke(app, arguments)


def test_everything_is_measured(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    result = run("--size", "200", "--count", "1", "--count", "2", "--rounds", "2")
    assert result.exit_code == 0, result.output
    for way in WAYS:
        assert way in result.output
    for count in (1, 2):
        cells = r" │ +".join([r"[\d,]+ \(\d+\.\d\d\) *"] * len(WAYS))
        assert re.search(rf"│ 200 +│ {count} +│ {cells}│", result.output), result.output


def test_unknown_size():
    assert run("--size", "7").exit_code == 2


def test_steps_per_second(small_program):
    rates = steps_per_second(small_program, 2, 3, [LOOP, VECTOR])
    assert [len(rates[way]) for way in (LOOP, VECTOR)] == [3, 3]
    assert all(rate > 1 for way in rates.values() for rate in way)


def test_median_ratio():
    assert median_ratio([2, 6, 9], [1, 2, 1]) == pytest.approx(3)
