"""Minimisation of failures: first the passes, then the program, always with the same script."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compiler_gym.hunt.failures import Kind, opt_command
from compiler_gym.hunt.reproducer import GUARDS, Reproducer
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.confinement import confining_program
from compiler_gym.util.findings import reduce_module
from compiler_gym.util.sequence_reducer import reductions

# The share of the time that is reserved for the program.
_SHARE_OF_PASSES = 0.4
_TOOL_SECONDS = 60
# A script runs opt and the program several times, so a hang may reach several limits.
_LIMITS_OF_SCRIPT = 4


@dataclass(frozen=True)
class Minimal:
    """A minimised failure.

    Attributes:
        reproducer: Its script, with the fewest passes.
        module: The smallest module: textual IR, or bitcode if only that shows the failure.
        reduced: A description of the reduction.
    """

    reproducer: Reproducer
    module: Path
    reduced: str


class Minimiser:
    """Minimises one failure, with its own folder and time limit.

    Args:
        folder: A scratch folder, which also gets the results.
        seconds: The time limit.
        end_if_stopped: Called regularly; raises an exception if the hunt ends.
    """

    def __init__(self, folder: Path, seconds: float, end_if_stopped: Callable[[], None]):
        self._folder = folder
        self._end_if_stopped = end_if_stopped
        self._end = time.monotonic() + seconds
        self._end_of_passes = time.monotonic() + seconds * _SHARE_OF_PASSES
        (folder / "tmp").mkdir(parents=True)

    def with_fewest_passes(
        self, reproducer: Reproducer, module: Path
    ) -> tuple[Reproducer, Path] | None:
        """Removes passes, and applies those that only prepare the module beforehand.

        Args:
            reproducer: The script of the failure.
            module: The module, bitcode.

        Returns:
            The script and the module; None if the failure does not reproduce.
        """
        for name, path in reproducer.files.items():
            shutil.copyfile(path, self._folder / name)
        if not self._shows(reproducer, module):
            return None
        reproducer = self._without_passes(self._guarded(reproducer, module), module)
        return self._with_prefix_in_module(reproducer, module)

    def with_smallest_module(self, reproducer: Reproducer, module: Path) -> Minimal:
        """Reduces the module.

        Args:
            reproducer: The script of the failure.
            module: The module, bitcode.
        """
        text = self._as_text(reproducer, module)
        if text is None:
            return Minimal(reproducer, module, "not at all, as only this bitcode shows it")
        return self._reduced(reproducer, text)

    def _shows(self, reproducer: Reproducer, module: Path) -> bool:
        self._end_if_stopped()
        # Another thread may be starting a process, which inherits the open script. It could then be
        # read, but not executed.
        command: list[str | Path] = ["/bin/sh", self._write_script(reproducer), module]
        seconds = reproducer.limits.wall_seconds * _LIMITS_OF_SCRIPT
        try:
            done = run_command(
                command, seconds, cwd=self._folder, env=self._environment(), check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _environment(self) -> dict[str, str]:
        # Files of a killed script are removed with the folder.
        temporary = str(self._folder / "tmp")
        return {**os.environ, "TMPDIR": temporary, "CONFINE": str(confining_program())}

    def _write_script(self, reproducer: Reproducer) -> Path:
        path = self._folder / "check.sh"
        path.write_text(reproducer.script(path.name, "input.bc", "a check"))
        return path

    def _guarded(self, reproducer: Reproducer, module: Path) -> Reproducer:
        """Returns a reproducer with fast builds and the guards that the program passes."""
        if reproducer.failure.kind is not Kind.WRONG_OUTPUT:
            return reproducer
        fast = replace(reproducer, level=0)
        if self._shows(fast, module):
            reproducer = fast
        passed = [
            guard for guard in GUARDS if self._shows(replace(reproducer, guards=(guard,)), module)
        ]
        return replace(reproducer, guards=tuple(passed))

    def _without_passes(self, reproducer: Reproducer, module: Path) -> Reproducer:
        unguarded = replace(reproducer, guards=())  # The program is unchanged.

        def shows(sequence: Sequence[str]) -> bool:
            return time.monotonic() < self._end_of_passes and self._shows(
                unguarded.with_sequence(sequence), module
            )

        # The last pass of the shortest failing prefix is guilty, even if the time ends here.
        sequence = list(reproducer.sequence)
        too_few, enough = 0, len(sequence)
        while enough - too_few > 1:
            count = (too_few + enough) // 2
            if self._shows(unguarded.with_sequence(sequence[:count]), module):
                enough = count
            else:
                too_few = count
        sequence = [sequence[:enough], *reductions(sequence[:enough], shows)][-1]
        return reproducer.with_sequence(sequence)

    def _with_prefix_in_module(
        self, reproducer: Reproducer, module: Path
    ) -> tuple[Reproducer, Path]:
        """Applies passes beforehand, as long as the module stays valid.

        For crashes, this nearly always leaves one pass. It may fail, because passes share analyses.
        """
        sequence = list(reproducer.sequence)
        for count in range(len(sequence) - 1, 0, -1):
            after = self._folder / f"after-{count}.bc"
            shorter = reproducer.with_sequence(sequence[count:])
            if self._optimise(reproducer, sequence[:count], module, after) and self._shows(
                shorter, after
            ):
                return shorter, after
        return reproducer, module

    def _optimise(
        self, reproducer: Reproducer, sequence: list[str], module: Path, result: Path
    ) -> bool:
        limits = reproducer.limits
        command = limits.apply(opt_command(reproducer.opt, sequence, module, result))
        try:
            done = run_command(command, limits.wall_seconds, env=self._environment(), check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _as_text(self, reproducer: Reproducer, module: Path) -> Path | None:
        """Returns the module as textual IR, if the failure still reproduces."""
        path = self._folder / "input.ll"
        run_command([llvm_tools.llvm_dis_path(), module, "-o", path], _TOOL_SECONDS)
        return path if self._shows(reproducer, path) else None

    def _reduced(self, reproducer: Reproducer, module: Path) -> Minimal:
        kept = self._folder / "reduced.ll"
        script = self._write_script(reproducer)
        seconds = max(self._end - time.monotonic(), 1)
        asks = f"/bin/sh {script.name}"
        ended = reduce_module(module, asks, kept, seconds, self._environment())
        if not kept.is_file():
            return Minimal(reproducer, module, "not at all in its time")
        if not self._shows(reproducer, kept):
            return Minimal(
                reproducer, module, "not at all: what llvm-reduce made shows it at times"
            )
        how = "by llvm-reduce" if ended else "by llvm-reduce, until its time was over"
        return Minimal(reproducer, kept, how)
