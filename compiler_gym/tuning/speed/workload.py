"""Programs that can be run: how they are linked, whether they work, and how long they take."""

import os
import resource
import shlex
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.validation import (
    RUN_TIMEOUT_SECONDS,
    ProgramValidator,
    build_program,
    run_program,
)
from compiler_gym.tuning.size.linking import Linker, LinkError
from compiler_gym.util.commands import run_command

_RUN_SECONDS = 600
_RESOLUTION_SECONDS = 1e-6
_MAX_CHARACTERS = 500


class RunError(ValueError):
    """A program does not run as it should. The text says why."""


class Workload(ABC):
    """A workload: the runs with which a program is measured."""

    @abstractmethod
    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file to a program.

        Raises:
            LinkError: If that is not possible.
        """

    @abstractmethod
    def check(self, program: Path) -> str:
        """Runs a program. Returns the error in its output; empty if there is none."""

    @abstractmethod
    def run(self, program: Path) -> None:
        """Runs a program once on everything that it is measured with.

        Raises:
            RunError: If it does not end as it should.
        """

    def seconds(self, program: Path) -> float:
        """Returns the processor time of one :meth:`run`, of all its processes, in seconds.

        Other programs that want the processor take less from that than from the time on the clock.

        Raises:
            RunError: See :meth:`run`.
        """
        begin = _time_of_children()
        self.run(program)
        return max(_time_of_children() - begin, _RESOLUTION_SECONDS)


def _time_of_children() -> float:
    # Of those that have ended. No compiler runs during measurements, so nothing else ends.
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class ProgramWorkload(Workload):
    """A program of a dataset, with inputs, and what it must print.

    Attributes:
        validator: Knows the inputs.
    """

    validator: ProgramValidator

    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file to a program."""
        error = build_program(object_file, program, self.validator.linker_options)
        if error:
            raise LinkError(str(error))

    def check(self, program: Path) -> str:
        """Runs a program. Returns the error in its output; empty if there is none."""
        return "; ".join(str(error) for error in self.validator.errors_of_executable(program))

    def run(self, program: Path) -> None:
        """Runs a program once on all inputs of the measurement."""
        for run in self.validator.runs:
            error = run_program(program, run, Path(os.devnull), RUN_TIMEOUT_SECONDS)
            if error:
                raise RunError(str(error))


@dataclass
class CommandWorkload(Workload):
    """A command of the user's, which runs in the current folder.

    What it prints must be the same each time, and its exit code 0.

    Attributes:
        command: The command of a shell. ``{}`` stands for the path of the program, which is also
            the value of the environment variable ``PROGRAM``.
        linker: Links it.
        expected: What it prints; known after the first check.
    """

    command: str
    linker: Linker = field(default_factory=Linker)
    expected: bytes | None = field(default=None, init=False)

    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file to a program."""
        self.linker.link(object_file, program)

    def check(self, program: Path) -> str:
        """Runs a program. The output of the first program is the expected one."""
        try:
            printed = self._printed(program)
            if self.expected is None:
                self.expected, printed = printed, self._printed(program)
                if printed != self.expected:
                    return (
                        "it prints something else each time: let it print what is to be compared, "
                        "and send the rest to /dev/null"
                    )
        except RunError as error:
            return str(error)
        return "" if printed == self.expected else "it prints something else"

    def run(self, program: Path) -> None:
        """Runs a program once on all inputs of the measurement."""
        self._printed(program)

    def _printed(self, program: Path) -> bytes:
        """Runs the command, and returns its standard output."""
        text = self.command.replace("{}", shlex.quote(str(program)))
        environment = {**tools.command_environment(), "PROGRAM": str(program)}
        try:
            done = run_command(
                ["/bin/sh", "-c", text], _RUN_SECONDS, env=environment, text=False, check=False
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"it takes more than {_RUN_SECONDS} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            said = said[-_MAX_CHARACTERS:]
            raise RunError(f"exit code {done.returncode}" + (f": {said}" if said else ""))
        return done.stdout
