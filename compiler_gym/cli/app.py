"""The program ``compiler-gym``, and its commands. Each is imported when it is first used.

Modules of commands import NumPy, gRPC and the environments in the functions that use them. So no
``--help`` waits for these.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

import compiler_gym
from compiler_gym.cli.console import run_program
from compiler_gym.util.debug_util import show_output
from compiler_gym.util.llvm_engines import VERSION_VARIABLE, checked_version
from compiler_gym.util.runfiles_path import find_other_llvm, runfiles_path

# Commands whose words after ``--`` are options of clang.

_CLANG_OPTIONS = "compiler_gym.clang_options"


class CommandWithClangOptions(TyperCommand):
    """A command whose words after ``--`` are options of clang."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Separates the words after ``--``."""
        own, rest = args, []
        if "--" in args:
            place = args.index("--")
            own, rest = args[:place], args[place + 1 :]
        ctx.meta[_CLANG_OPTIONS] = rest
        return super().parse_args(ctx, own)


def clang_options(context: typer.Context) -> list[str]:
    """Returns the options of clang on the command line of a :class:`CommandWithClangOptions`."""
    return context.meta[_CLANG_OPTIONS]


def _choose_llvm(version: str | None) -> None:
    if version is None:
        return
    try:
        os.environ[VERSION_VARIABLE] = str(checked_version(version))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    find_other_llvm()  # Raises an error that says how to install it.


def _llvm_option(is_hidden: bool = False) -> Any:
    return typer.Option(
        "--llvm",
        callback=_choose_llvm,
        is_eager=True,
        hidden=is_hidden,
        help="The version of LLVM, such as 23. It can also come after the command.",
    )


def _accept_llvm_option(command: Any) -> None:
    """Makes a command, or the commands of a group, accept the option of the program."""
    for each in getattr(command, "commands", {}).values():
        _accept_llvm_option(each)

    def other(llvm: Annotated[str | None, _llvm_option(is_hidden=True)] = None) -> None: ...

    single = typer.Typer(add_completion=False)
    single.command()(other)
    (option,) = (each for each in typer.main.get_command(single).params if each.name == "llvm")
    option.expose_value = False  # The function of the command has no such argument.
    command.params.append(option)


@dataclass(frozen=True)
class CommandSource:
    """The place of a command's code: a function, or a Typer application with commands of its own.

    Attributes:
        module: A module of this package.
        attribute: The function or application in it.
        summary: The first sentence of its help, for the list of commands, which imports none.
        kind: The class of a function's command.
    """

    module: str
    attribute: str
    summary: str
    kind: type[TyperCommand] = TyperCommand

    def load(self, name: str) -> Any:
        """Imports the code and returns its command, for a group of commands."""
        code = getattr(import_module(f"compiler_gym.cli.{self.module}"), self.attribute)
        if isinstance(code, typer.Typer):
            command: Any = typer.main.get_group(code)
        else:
            single = typer.Typer(
                add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
            )
            single.command(name, cls=self.kind)(code)
            command = typer.main.get_command(single)
        _accept_llvm_option(command)
        return command


GROUPS = {
    "Smaller and faster programs": {
        "optimize": CommandSource(
            "optimize",
            "optimize",
            "Make object files smaller or faster than those of clang.",
            CommandWithClangOptions,
        ),
        "build": CommandSource(
            "build", "build", "Build a project with smaller object files, and check it."
        ),
        "integrate": CommandSource(
            "integrate", "integrate", "Make a build system use compiler-gym-cc."
        ),
        "lock": CommandSource("lock", "lock_app", "Verify, update, explain or compare lock files."),
        "size-diff": CommandSource(
            "size_diff", "size_diff", "Compare the sizes of two builds, as a gate for changes."
        ),
        "advise": CommandSource(
            "advise",
            "advise",
            "Measure risky options that make a program smaller.",
            CommandWithClangOptions,
        ),
    },
    "Passes for one program": {
        "search": CommandSource("search", "search", "Search for passes that beat opt -Oz."),
        "shell": CommandSource("shell", "shell", "Play by hand, pass by pass."),
        "explore": CommandSource(
            "explore", "explore", "Open a page that shows what each pass does to a program."
        ),
        "observe": CommandSource("observe", "observe", "Compute observations of a program."),
        "replay": CommandSource("replay", "replay", "Replay passes, and show the effect of each."),
        "validate": CommandSource("validate", "validate", "Validate recorded states."),
    },
    "Policies, agents and their data": {
        "eval": CommandSource(
            "eval", "evaluate", "Evaluate a policy on held-out programs, against -Oz."
        ),
        "scoreboard": CommandSource(
            "scoreboard", "scoreboard", "Compare methods on sets of programs, as papers do."
        ),
        "record": CommandSource("record", "record", "Record episodes as Parquet files."),
        "chat": CommandSource("chat", "chat", "Write recorded episodes as conversations."),
        "mcp": CommandSource(
            "mcp", "mcp", "Serve the compiler as tools for language models (MCP)."
        ),
    },
    "LLVM itself": {
        "hunt": CommandSource("hunt", "hunt", "Hunt for defects of LLVM's passes."),
        "mine": CommandSource(
            "mine", "mine", "Look for missed optimisations of LLVM, and explain them."
        ),
        "measure-pass": CommandSource("measure_pass", "measure", "Measure the benefit of a pass."),
    },
    "Programs, services and this installation": {
        "describe": CommandSource(
            "describe", "describe", "Describe the spaces and datasets of an environment."
        ),
        "datasets": CommandSource(
            "datasets", "datasets_app", "List, install, remove datasets of programs."
        ),
        "collect": CommandSource("collect", "collect", "Build a program and collect its bitcode."),
        "service": CommandSource("service", "service", "Describe a compiler service, or run one."),
        "compliance": CommandSource(
            "compliance", "compliance", "Check a service against the rules that clients rely on."
        ),
        "doctor": CommandSource("doctor", "doctor", "Check the installation."),
    },
}
"""The commands by what they are for, as ``--help`` shows them."""

COMMANDS = {name: source for group in GROUPS.values() for name, source in group.items()}
"""All commands."""

_NAME_WIDTH = max(map(len, COMMANDS))


class ImportedCommands(Mapping[str, Any]):
    """The commands of a group by name. A command's module is imported when it is looked up."""

    def __init__(self, sources: Mapping[str, CommandSource]) -> None:
        self._sources = sources
        self._commands: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Returns a command; raises KeyError if there is none of this name."""
        if name not in self._commands:
            self._commands[name] = self._sources[name].load(name)
        return self._commands[name]

    def __contains__(self, name: object) -> bool:
        """Returns whether there is a command of this name, without importing it."""
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names, in the order of ``--help``."""
        return iter(self._sources)

    def __len__(self) -> int:
        """Returns the number of commands."""
        return len(self._sources)


class _UnloadedCommand(TyperCommand):
    """A command by its name and summary. Its module is imported when its arguments are parsed."""

    def __init__(self, name: str, commands: Mapping[str, Any]) -> None:
        super().__init__(name, help=COMMANDS[name].summary)
        self._commands = commands

    def make_context(self, info_name: str | None, *args: Any, **kwargs: Any) -> Any:
        """Returns the context of the command itself."""
        return self._commands[self.name or ""].make_context(info_name, *args, **kwargs)


class _Program(TyperGroup):
    """The group of all commands. It imports the command that runs or is completed, and no other."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the names. The base class would look up each command, which imports it."""
        return [*self.commands]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns a command that is not imported yet, or None if there is none of this name."""
        return _UnloadedCommand(cmd_name, self.commands) if cmd_name in self.commands else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands of each group."""
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(_NAME_WIDTH), each.summary) for name, each in group.items()]
                )


NAME = "compiler-gym"

app = typer.Typer(
    name=NAME,
    cls=_Program,
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
    llvm: Annotated[str | None, _llvm_option()] = None,
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
