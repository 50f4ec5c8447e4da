"""Commands whose words after ``--`` are options of clang."""

from typing import Any

import typer
from typer.core import TyperCommand

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
