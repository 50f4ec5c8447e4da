import re

from typer import Typer
from typer.testing import CliRunner

from benchmarks import isolation_report


def test_everything_is_measured(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    app = Typer()
    app.command()(isolation_report.main)
    result = CliRunner().invoke(
        app, ["--size", "200", "--sessions", "3", "--samples", "10", "--seconds", "0.2"]
    )
    assert result.exit_code == 0, result.output
    for row in [
        "idle step",
        "... observed",
        "reset after a step",
        "fork after a step",
        "... and its first step",
        "reset after a pause",
        "fork after a pause",
    ]:
        assert len(re.findall(re.escape(f"│ {row} "), result.output)) == 1
    assert re.search(r"an empty step of a Session: \d+\.\d µs", result.output)
    assert re.search(r"the client uses \d+\.\d% of a processor", result.output)
    scaling = r"two environments, \d\.\d+ times .* one keeps (\d\.\d+) .* two (\d\.\d+)"
    ((one, two),) = re.findall(scaling, result.output)
    assert float(one) > 0 and float(two) > 0
    assert re.search(r"count=3, start_ms=\d.*wrong=0", result.output, re.DOTALL)
