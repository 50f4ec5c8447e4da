import re
from contextlib import closing

import pytest
from typer import Typer
from typer.testing import CliRunner

from benchmarks import floor_report
from benchmarks.floor import Floor
from compiler_gym.util.runfiles_path import find_service_binary


@pytest.fixture(scope="module")
def binary():
    return find_service_binary("Floor", package="benchmarks/llvm_service")


@pytest.fixture
def floor(binary, small_program):
    with closing(Floor(binary, small_program, ["function(sroa)", "no-such-pass"])) as floor:
        floor.reset()
        yield floor


def test_steps_take_time(floor):
    for _ in range(2):
        step = floor.step(0)
        assert step.total_us >= step.pass_us > 0
        floor.reset()


def test_failures_are_explained(floor):
    with pytest.raises(RuntimeError, match="no-such-pass"):
        floor.step(1)


def test_processes_end_with_the_client(floor):
    floor.step(0)
    session = floor._session.dup()
    session.settimeout(60)
    floor.close()
    assert session.recv(1) == b""
    session.close()


def test_ratios_are_reported(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    app = Typer()
    app.command()(floor_report.main)
    result = CliRunner().invoke(app, ["--size", "200", "--episodes", "1"])
    assert result.exit_code == 0, result.output
    ratios = r"│ \d+\.\d\d +" * len(floor_report.COLUMNS)
    for row in (floor_report.WALK, floor_report.IDLE):
        assert re.search(rf"│ 200 +│ {row} +│ [\d,]+ µs +{ratios}", result.output), result.output
