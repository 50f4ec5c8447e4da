import re

from typer import Typer
from typer.testing import CliRunner

from benchmarks import transition_report


def test_results_are_compared(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    app = Typer()
    app.command()(transition_report.main)
    result = CliRunner().invoke(app, ["--size", "200", "--episodes", "10", "--steps", "3"])
    assert result.exit_code == 0, result.output
    for learner in "random", "genetic", "policy":
        for analyses in "kept", "fresh":
            row = rf"│ 200 +│ {learner} +│ {analyses} +│ .*% +│ [1-9][0-9,]* +│ \d+ +│ equal +│"
            assert len(re.findall(row, result.output)) == 1
    assert "DIFFERENT" not in result.output
