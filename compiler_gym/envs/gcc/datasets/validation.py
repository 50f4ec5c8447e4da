"""Checks that a program that GCC has compiled does what it must."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun, ProgramValidator
from compiler_gym.errors import ValidationError
from compiler_gym.util.commands import CommandError


@dataclass(frozen=True)
class ObjectValidator:
    """A validation callback that links the object file, and compares what the program prints.

    Attributes:
        runs: The runs to make, one after the other.
    """

    runs: tuple[ProgramRun, ...]

    def __call__(self, env: Any) -> Iterator[ValidationError]:
        """Validates the program of an environment, a :class:`GccEnv`.

        Yields:
            As :class:`ProgramValidator`.

        Raises:
            EnvironmentNotSupported: If there is no GCC on this machine.
            ServiceError: If the program cannot be compiled.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            executable = Path(name, "a.out")
            try:
                env.write_executable(executable)
            except CommandError as error:
                yield ValidationError("Compilation failed", {"stderr": str(error)})
                return
            yield from ProgramValidator(self.runs).errors_of_runs(executable)
