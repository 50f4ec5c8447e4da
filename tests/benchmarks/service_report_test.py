import re

from typer import Typer
from typer.testing import CliRunner

from benchmarks import service_report


def test_everything_is_measured(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    app = Typer()
    app.command()(service_report.main)
    result = CliRunner().invoke(app, ["--samples", "10"])
    assert result.exit_code == 0, result.output
    for row in [
        "step",
        "step, observed",
        "10 steps at once",
        "reset, program known",
        "fork and its first step",
        "start of the service, first reset",
    ]:
        durations = r"(\s*│ [\d,]+ / [\d,]+\s*){3}│"
        assert len(re.findall(rf"│ {re.escape(row)}{durations}", result.output)) == 1, row
