"""The stack that the functions of an object file use, by ``clang -fstack-usage``."""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.util.commands import run_command

_SECONDS = 3600


@dataclass(frozen=True)
class StackUse:
    """The sizes of stack frames, without what grows at run time.

    Attributes:
        largest: Bytes of the largest frame.
        function: The function that has it.
        total: Bytes of the frames of all functions.
    """

    largest: int
    function: str
    total: int


def stack_use(compilation: Compilation, change: Change) -> StackUse | None:
    """Returns the stack use of what clang makes of a source with a change.

    Returns:
        None if clang does not tell, as for some targets, or there is no function.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        made = Path(folder) / "made.o"
        try:
            run_command([*compilation.command(made, change), "-fstack-usage"], timeout=_SECONDS)
            lines = made.with_suffix(".su").read_text(encoding="utf-8").splitlines()
        except (OSError, subprocess.SubprocessError):
            return None
    # A line is SOURCE:LINE:FUNCTION, bytes and a kind, with tabs between.
    frames = [(int(size), place.rpartition(":")[2]) for place, size, _ in map(_fields, lines)]
    if not frames:
        return None
    largest, function = max(frames)
    return StackUse(largest, function, sum(size for size, _ in frames))


def _fields(line: str) -> list[str]:
    return line.rsplit("\t", 2)
