"""``python -m compiler_gym.bin.measure_pass``: as ``compiler-gym measure-pass``."""

import typer

from compiler_gym.cli.app import run_typer
from compiler_gym.cli.measure_pass import measure


def main() -> None:
    """Runs the program."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command()(measure)
    run_typer(app, "measure_pass")


if __name__ == "__main__":
    main()
