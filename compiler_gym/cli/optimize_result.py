"""Results and progress messages of ``compiler-gym optimize``."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.cli.console import messages, print_line
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.ranking import experimental_options
from compiler_gym.util.shell_format import join_cmd
from compiler_gym.util.tabulate import html_table


def experimental_notes(change: Change) -> list[str]:
    """Returns a line with the experimental options of a change; empty without any."""
    options = ", ".join(experimental_options(change))
    # The machine outliner is on by default for other targets, such as AArch64 at -Oz.
    said = "Experimental options, which LLVM does not turn on by itself for x86-64"
    return [f"{said}: {options}"] if options else []


@dataclass(frozen=True, kw_only=True)
class Product:
    """The object file of a program.

    Attributes:
        program: The program.
        target: The object file.
        seconds: The duration of the search.
        is_finished: False if Ctrl-C ended it.
        summary: The result, in a line.
        command: The command that makes the object file from the source.
        is_repeatable: True if the command makes the same bytes.
        script: The script that makes the object file; None if none was asked for.
        is_script_repeatable: True if the script makes the same bytes.
    """

    program: Input
    target: Path
    seconds: float
    is_finished: bool
    summary: str
    command: list[str]
    is_repeatable: bool
    script: Path | None = None
    is_script_repeatable: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns the result for JSON, with times in seconds."""
        return {
            "source": str(self.program.path),
            "object": str(self.target),
            "finished": self.is_finished,
            "seconds": self.seconds,
            "command": self.command,
            "command_repeats": self.is_repeatable,
            "script": self.script and str(self.script),
            "script_repeats": self.is_script_repeatable if self.script else None,
        }

    def _repr_html_(self) -> str:
        """Returns the result as a table, for notebooks."""
        return html_table(
            {
                "program": str(self.program.path),
                "object file": str(self.target),
                "result": self.summary,
                "search": f"{self.seconds:.1f} s{'' if self.is_finished else ', interrupted'}",
                "made by": join_cmd(self.command),
            }
        )

    def print_origin(self) -> None:
        """Prints the command and script that make the object file."""
        print_line("\nMade by")
        print_line(f"  {join_cmd(self.command)}")
        if self.script is not None:
            verdict = "identical" if self.is_script_repeatable else "other bytes"
            print_line(f"and by {self.script}: {verdict}")


# Progress messages of ``compiler-gym optimize``.

_SECONDS_BETWEEN_LINES = 5


class Progress:
    """Shows the progress of a search: in one line on terminals, else in a new line now and then.

    Args:
        name: The name of the result.
        is_quiet: Show progress on terminals only.
    """

    def __init__(self, name: str, is_quiet: bool):
        self._is_quiet = is_quiet
        self._last = time.monotonic()
        self._status = messages().status(f"{name}: compiling")

    def __enter__(self) -> "Progress":
        if self._status.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def show(self, text: str, picture: str = "") -> None:
        """Shows the current state.

        Args:
            text: The message.
            picture: An addition for terminals.
        """
        now = time.monotonic()
        if self._status.console.is_terminal:
            parts = (text, picture, "Ctrl-C ends the search.")
            self._status.update("  ".join(part for part in parts if part))
        elif not self._is_quiet and now > self._last + _SECONDS_BETWEEN_LINES:
            self._last = now
            self._status.console.print(text, soft_wrap=True)
