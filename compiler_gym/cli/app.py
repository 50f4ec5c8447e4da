"""The program ``compiler-gym`` and its commands."""

import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

import compiler_gym
from compiler_gym.cli.commands import COMMANDS, ImportedCommands
from compiler_gym.cli.console import run_program
from compiler_gym.util.debug_util import show_output
from compiler_gym.util.runfiles_path import runfiles_path

NAME = "compiler-gym"

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"{NAME} {compiler_gym.__version__}")
        raise typer.Exit


def _print_licenses(is_asked: bool) -> None:
    if is_asked:
        path = runfiles_path("compiler_gym/THIRD_PARTY_LICENSES")
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no {path}: it is part of the wheel, which 'bazel build //:wheel' makes"
            )
        print(path.read_text(encoding="utf-8"), end="")
        raise typer.Exit


def _show_output(is_asked: bool) -> None:
    if is_asked:
        show_output()


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, help="Print the version.")
    ] = False,
    licenses: Annotated[
        bool,
        typer.Option(
            "--licenses", callback=_print_licenses, help="Print the licences of bundled software."
        ),
    ] = False,
    shows_output: Annotated[
        bool,
        typer.Option(
            "--show-output", callback=_show_output, help="Show what passes print, after each step."
        ),
    ] = False,
) -> None:
    """Optimise programs with LLVM's passes: search, observe, replay and measure.

    \b
    Examples:
      compiler-gym optimize program.c        an object file smaller than that of clang -Oz
      compiler-gym search program.c          passes, for fewer instructions than -Oz leaves
      compiler-gym shell program.c           pass by pass, by hand
      compiler-gym observe program.c Ir observations, such as the LLVM IR
    """  # noqa: D301


def program_command() -> Any:
    """Returns the command ``compiler-gym``, whose ``commands`` are imported when looked up."""
    group: Any = typer.main.get_command(app)
    group.commands = ImportedCommands(COMMANDS)
    return group


def main() -> None:
    """Runs the program."""
    run_command(program_command, NAME)


def run_command(make_command: Callable[[], Any], name: str) -> NoReturn:
    """Runs a command of typer and exits with its code: 2 if the arguments are wrong.

    Args:
        make_command: Returns the command.
        name: The name of the program in messages.
    """

    def run() -> int | None:
        try:
            command = make_command()
            return command.main(prog_name=name, standalone_mode=False)
        except Exception as error:
            # The class comes from typer or from click, depending on the version of typer.
            if not hasattr(error, "format_message"):
                raise
            _print_usage_error(error, name)
            return 2

    sys.exit(run_program(name, run))


def _print_usage_error(error: Any, name: str) -> None:
    """Prints the error about the arguments in a line, or help if there are none."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return
    context = getattr(error, "ctx", None)
    path = context.command_path if context else name
    message = error.format_message().replace("Value error, ", "")
    end = "" if message.endswith((".", "?")) else "."
    print(f"{path}: {message}{end} See {path} --help", file=sys.stderr)
