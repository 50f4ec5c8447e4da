import re

from typer import Typer
from typer.testing import CliRunner

from benchmarks import vector_report
from benchmarks.vector import WAYS


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
