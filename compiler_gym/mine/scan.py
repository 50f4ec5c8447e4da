"""Measures every known decision on a program, and attributes the savings to its functions."""

import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.mine.decisions import Decision, Tools, baseline_command
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.util.commands import CommandError, run_command

COMPILE_SECONDS = 120


@dataclass(frozen=True)
class Saving:
    """The effect of a decision on one function.

    Attributes:
        function: The symbol.
        before: Its bytes with ``clang -Oz``.
        after: Its bytes with the decision as well; fewer.
    """

    function: str
    before: int
    after: int

    @property
    def saved(self) -> int:
        """The bytes by which it is smaller."""
        return self.before - self.after


@dataclass(frozen=True)
class Effect:
    """The effect of a decision on a program.

    Attributes:
        decision: The decision.
        net: The bytes of code by which the whole program is smaller; negative if it is larger.
        savings: The functions that are smaller, the largest saving first.
    """

    decision: Decision
    net: int
    savings: tuple[Saving, ...]

    @property
    def saved(self) -> int:
        """The bytes by which the functions that are smaller are smaller."""
        return sum(each.saved for each in self.savings)


def scratch_environment(folder: Path) -> dict[str, str]:
    """Returns environment variables with which all temporary files are made in a folder."""
    return {**os.environ, "TMPDIR": str(folder)}


def compile_with(
    decision: Decision | None, source: Path, output: Path, tools: Tools, flags: str = "-c"
) -> bool:
    """Compiles IR with a decision, or as ``clang -Oz`` does. Returns whether that worked."""
    words = shlex.quote(str(source)), shlex.quote(str(output))
    if decision is None:
        line = baseline_command(*words, tools, flags)
    else:
        line = decision.command(*words, tools, flags)
    command = ["/bin/bash", "-o", "pipefail", "-c", line]
    try:
        run_command(command, COMPILE_SECONDS, env=scratch_environment(output.parent))
    except (CommandError, subprocess.TimeoutExpired):
        return False
    return True


def measure(
    decision: Decision | None, source: Path, folder: Path, tools: Tools
) -> ObjectFile | None:
    """Compiles IR, and reads the object file; None if clang refuses."""
    output = folder / "measured.o"
    return read_object(output) if compile_with(decision, source, output, tools) else None


def scan(
    source: Path, decisions: Iterable[Decision], folder: Path, tools: Tools
) -> tuple[ObjectFile, list[Effect]]:
    """Compiles a program with each decision alone.

    Args:
        source: The program: IR on which no pass has run, marked for size.
        decisions: The decisions.
        folder: A scratch folder.
        tools: The LLVM.

    Returns:
        The object file of ``clang -Oz``, and the decisions that make a function smaller.

    Raises:
        ValueError: If the program does not compile.
    """
    before = measure(None, source, folder, tools)
    if before is None:
        raise ValueError(f"{source.name} does not compile with -Oz")
    effects = []
    for decision in decisions:
        after = measure(decision, source, folder, tools)
        if after is not None and after.code != before.code:
            effect = Effect(
                decision, before.text - after.text, _savings(before.functions, after.functions)
            )
            effects += [effect] if effect.savings else []
    return before, effects


def _savings(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Saving, ...]:
    found: Sequence[Saving] = [
        Saving(name, size, after[name])
        for name, size in before.items()
        if after.get(name, size) < size
    ]
    return tuple(sorted(found, key=lambda each: (-each.saved, each.function)))
