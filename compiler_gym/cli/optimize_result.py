"""What all searches of ``compiler-gym optimize`` end with: an object file, and what makes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.cli.console import print_line
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.portfolio import experimental_options
from compiler_gym.util.html_table import html_table
from compiler_gym.util.shell_format import join_cmd


def experimental_notes(change: Change) -> list[str]:
    """Returns a line that names the experimental options of a change; nothing without any."""
    options = ", ".join(experimental_options(change))
    # The machine outliner is on by default for other targets, such as AArch64 at -Oz.
    said = "Experimental options, which LLVM does not turn on by itself for x86-64"
    return [f"{said}: {options}"] if options else []


@dataclass(frozen=True, kw_only=True)
class Product:
    """The object file that was written of a program.

    Attributes:
        program: What was compiled.
        target: The object file.
        seconds: How long the search took.
        is_finished: False if Ctrl-C ended it.
        summary: What came of it, in a line.
        command: What makes the object file of the source.
        repeats: Whether that makes the same bytes.
        script: The script that makes the object file; None if none was asked for.
        script_repeats: Whether it makes the same bytes.
    """

    program: Input
    target: Path
    seconds: float
    is_finished: bool
    summary: str
    command: list[str]
    repeats: bool
    script: Path | None = None
    script_repeats: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns all about it; times in seconds."""
        return {
            "source": str(self.program.path),
            "object": str(self.target),
            "finished": self.is_finished,
            "seconds": self.seconds,
            "command": self.command,
            "command_repeats": self.repeats,
            "script": self.script and str(self.script),
            "script_repeats": self.script_repeats if self.script else None,
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
        """Prints what makes it."""
        print_line("\nMade by")
        print_line(f"  {join_cmd(self.command)}")
        if self.script is not None:
            verdict = "identical" if self.script_repeats else "other bytes"
            print_line(f"and by {self.script}: {verdict}")
