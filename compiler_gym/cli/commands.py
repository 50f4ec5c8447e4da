"""The commands of ``compiler-gym``, each imported when it is first used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

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


@dataclass(frozen=True)
class CommandSource:
    """The place of a command's code: a function, or a Typer application with commands of its own.

    Attributes:
        module: A module of this package.
        attribute: The function or application in it.
        kind: The class of a function's command.
    """

    module: str
    attribute: str
    kind: type[TyperCommand] = TyperCommand

    def load(self, name: str) -> Any:
        """Imports the code and returns its command, for a group of commands."""
        code = getattr(import_module(f"compiler_gym.cli.{self.module}"), self.attribute)
        if isinstance(code, typer.Typer):
            return typer.main.get_group(code)
        single = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        single.command(name, cls=self.kind)(code)
        return typer.main.get_command(single)


COMMANDS = {
    "search": CommandSource("search", "search"),
    "shell": CommandSource("shell", "shell"),
    "describe": CommandSource("describe", "describe"),
    "observe": CommandSource("observe", "observe"),
    "replay": CommandSource("replay", "replay"),
    "validate": CommandSource("validate", "validate"),
    "measure-pass": CommandSource("measure_pass", "measure"),
    "optimize": CommandSource("optimize", "optimize", CommandWithClangOptions),
    "advise": CommandSource("advise", "advise", CommandWithClangOptions),
    "eval": CommandSource("eval", "evaluate"),
    "hunt": CommandSource("hunt", "hunt"),
    "mine": CommandSource("mine", "mine"),
    "record": CommandSource("record", "record"),
    "build": CommandSource("build", "build"),
    "explore": CommandSource("explore", "explore"),
    "mcp": CommandSource("mcp", "mcp"),
    "chat": CommandSource("chat", "chat"),
    "collect": CommandSource("collect", "collect"),
    "service": CommandSource("service", "service"),
    "compliance": CommandSource("compliance", "compliance"),
    "doctor": CommandSource("doctor", "doctor"),
    "datasets": CommandSource("datasets", "datasets_app"),
    "lock": CommandSource("lock", "lock_app"),
}


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
