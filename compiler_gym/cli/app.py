"""The program ``compiler-gym``, made of its commands."""

import sys
from typing import Annotated

import typer

import compiler_gym
from compiler_gym.cli.console import run_program
from compiler_gym.cli.describe import describe
from compiler_gym.cli.observe import observe
from compiler_gym.cli.search import search

NAME = "compiler-gym"

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (search, describe, observe):
    app.command()(command)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"{NAME} {compiler_gym.__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Compilation as a game: search, look, replay and measure with LLVM's passes.

    \b
    Examples:
      compiler-gym search program.c          smaller than with -Oz
      compiler-gym shell program.c           pass by pass, by hand
      compiler-gym observe program.c Ir      what there is to see
    """  # noqa: D301


def main() -> None:
    """Runs the program."""
    sys.exit(run_program(NAME, _run))


def _run() -> int | None:
    """Returns the exit code: 2 for a command line that is not understood."""
    try:
        return typer.main.get_command(app).main(prog_name=NAME, standalone_mode=False)
    except Exception as error:
        # Whether that class comes from typer or from click depends on the version of typer.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return 2
        context = getattr(error, "ctx", None)
        path = context.command_path if context else NAME
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        print(f"{path}: {message}. See {path} --help", file=sys.stderr)
        return 2
