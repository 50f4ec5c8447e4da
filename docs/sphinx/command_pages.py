"""Generates tables of the options of ``compiler-gym`` from the program itself.

A comment ``<!-- options of search -->`` in ``docs/command-line.md`` is replaced by the table.
"""

import re
from enum import Enum
from pathlib import Path
from typing import Any

from environment_pages import markdown_table

from compiler_gym.cli.app import program_command

MARK = re.compile(r"^<!-- options of ([\w -]+) -->$", re.M)


def write_command_page(page: Path) -> None:
    """Replaces the comments in a page by tables."""
    commands = program_command().commands
    text = page.read_text(encoding="utf-8")
    page.write_text(MARK.sub(lambda mark: options_of(commands[mark[1]]), text), encoding="utf-8")


def options_of(command: Any) -> str:
    """Returns the table of the options of a command, and of those of its subcommands."""
    if hasattr(command, "commands"):
        parts = []
        for name, each in command.commands.items():
            about = each.get_short_help_str(200).rstrip(".")
            parts.append(f"`{command.name} {name}`: {about}.\n\n{options_of(each)}")
        return "\n".join(parts)
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or "--help" in parameter.opts:
            continue
        rows.append((_name_of(parameter), _text_of(parameter)))
    return markdown_table(("Option", "Meaning"), rows) if rows else ""


def _name_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} *{_type_of(parameter)}*"


def _type_of(parameter: Any) -> str:
    """Returns the type of the value of an option, in a word or as the values to choose from."""
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(each.value) for each in kind)
    return {"str": "text", "int": "number", "float": "number", "Path": "path"}.get(
        getattr(kind, "__name__", ""), "values"
    )


def _text_of(parameter: Any) -> str:
    text = " ".join((getattr(parameter, "help", "") or "").split())
    shown = None if parameter.name == "jobs" else parameter.default  # As many as processors.
    if shown in (None, False, "", ()) or callable(shown) or getattr(parameter, "is_flag", False):
        return text
    return f"{text} Default: `{getattr(shown, 'value', shown)}`."
