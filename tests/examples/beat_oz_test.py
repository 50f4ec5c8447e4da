"""The demo: a short search on two programs, through the program that people run."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner


def load_example():
    path = Path(__file__).absolute().parents[2] / "examples" / "beat_oz.py"
    spec = importlib.util.spec_from_file_location("beat_oz", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="app")
def fixture_app():
    app = Typer()
    app.command()(load_example().main)
    return app


def test_search_beats_oz_and_opt_agrees(app, tmp_path):
    result = CliRunner().invoke(
        app, ["--seconds", "4", "--programs", "sha256,sorting", "--output", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    assert "2 of 2 programs are smaller than with -Oz" in result.output
    assert "opt made the same bytes for 2 of 2" in result.output
    for name in ["sha256", "sorting"]:
        assert (tmp_path / f"{name}.bc").read_bytes()[:2] == b"BC"
        assert (tmp_path / f"{name}.input.bc").stat().st_size > 0
        assert re.search(rf"{name}\.input\.bc by\s+opt .*-passes='module\(", result.output)


def test_unknown_program_is_named(app, tmp_path):
    result = CliRunner().invoke(app, ["--programs", "sha257", "--output", str(tmp_path)])
    assert result.exit_code != 0
    assert "sha257" in str(result.exception) + result.output


def test_help_tells_the_options(app):
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for option in ["--seconds", "--programs", "--output", "--seed", "--jobs"]:
        assert option in result.output
