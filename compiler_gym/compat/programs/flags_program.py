"""Helpers shared by the programs with absl flags."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from compiler_gym.cli.console import run_program
from compiler_gym.compat.absl_flags import flags

_HELP = ("--help", "-help", "-h", "--helpfull")


def start(description: str | None, main: Callable[[list[str]], int | None]) -> NoReturn:
    """Runs a program, and ends this one with its exit code; 2 for flags that do not exist.

    Args:
        description: What the program does, for its help.
        main: The program; it is given the arguments that are not flags, after the program's name.
    """
    name = Path(sys.argv[0]).stem
    if any(argument in _HELP for argument in sys.argv[1:]):
        sys.exit(run_program(name, lambda: _print_help(description or "")))
    try:
        arguments = flags.FLAGS(sys.argv)[1:]
    except flags.Error as error:
        print(f"{name}: {error}. See --help", file=sys.stderr)
        sys.exit(2)

    def run() -> int | None:
        try:
            return main([sys.argv[0], "--", *arguments])
        except flags.Error as error:
            raise ValueError(str(error)) from error

    sys.exit(run_program(name, run))


def _print_help(description: str) -> None:
    print(description.strip())
    for module in sorted(flags.FLAGS.flags_by_module_dict()):
        if not module.startswith("absl"):
            print(flags.FLAGS.module_help(module).partition("\n")[2])


def parse_arguments(argv: list[str]) -> list[str]:
    """Parses flags, and returns the arguments that are not flags.

    Scripts that call a program's ``main()`` may give it flags, too.

    Args:
        argv: The program's name, flags and arguments.

    Raises:
        absl.flags.Error: A flag does not exist or has a wrong value.
    """
    return flags.FLAGS(argv)[1:]


def no_arguments(argv: list[str]) -> None:
    """Same as :func:`parse_arguments`, but raises ValueError if there are other arguments."""
    if arguments := parse_arguments(argv):
        raise ValueError(f"Unrecognised arguments: {' '.join(arguments)}. See --help")
