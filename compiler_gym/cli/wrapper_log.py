"""The log of ``compiler-gym-cc``: a line for each command."""

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.cli.wrapper_settings import LOG

if TYPE_CHECKING:
    from compiler_gym.tuning.size.evaluator import Budget


def log(
    kind: str,
    before: int | str = "",
    after: int | str = "",
    budget: "Budget | None" = None,
    output: Path | str = "",
    note: str = "",
) -> None:
    """Appends a line to the log in one write, because other compilers write there, too.

    A log that cannot be written is a warning, and does not end the compilation.
    """
    path = os.environ.get(LOG)
    if path:
        used = (budget.used, f"{budget.passed:.1f}") if budget else ("", "")
        name = str(output).replace("\t", " ").replace("\n", " ")
        line = "\t".join(map(str, (kind, before, after, *used, name, " ".join(note.split()))))
        try:
            with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{line}\n")
        except OSError as error:
            _warn(path, error.strerror or str(error))


@cache
def _warn(path: str, why: str) -> None:
    sys.stderr.write(
        f"compiler-gym: warning: cannot write {path}: {why}; set {LOG} to a file in a folder that "
        "exists\n"
    )
