"""Runs the main functions of examples in this process."""

import importlib.util
import sys
from pathlib import Path

from typer import Typer
from typer.testing import CliRunner

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))


def run(name: str, *arguments: str, **constants) -> str:
    """Returns what an example prints, with other values of its constants if given."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module).update(constants)
    app = Typer()
    app.command()(module.main)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output
