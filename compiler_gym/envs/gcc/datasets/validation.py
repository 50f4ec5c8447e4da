"""Checks the output of programs that GCC has compiled."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.envs.llvm.benchmarks.validation import (
    ProgramRun,
    ProgramValidator,
    run_program,
)
from compiler_gym.errors import ValidationError
from compiler_gym.util.commands import CommandError

_REFERENCE_SECONDS = 10


@dataclass(frozen=True)
class ObjectValidator:
    """A validation callback that links the object file, and compares the output of the program.

    Attributes:
        runs: The runs to make, one after the other.
    """

    runs: Sequence[ProgramRun]

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
            error = _link(env, executable)
            if error:
                yield error
                return
            yield from ProgramValidator(self.runs).errors_of_executable(executable)


def compare_with_unoptimised(env: Any) -> Iterator[ValidationError]:
    """A validation callback for programs without a known output.

    It is compared with what the program prints without options of the compiler, which the
    environment then has.

    Yields:
        As :class:`ProgramValidator`. If it is the program without options that fails, nothing was
        compared, and the type ends in ``of the unoptimised program``.

    Raises:
        Exception: Any error of :class:`ObjectValidator`.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        executable, reference = Path(name, "a.out"), Path(name, "reference")
        run = ProgramRun(expected_stdout=Path(name, "expected"))
        error = _link(env, executable)
        if error:
            yield error
            return
        env.choices = [-1] * len(env.choices)
        error = _link(env, reference) or run_program(
            reference, run, run.expected_stdout, _REFERENCE_SECONDS
        )
        if error:
            yield ValidationError(f"{error.type} of the unoptimised program", error.data)
            return
        yield from ProgramValidator([run]).errors_of_executable(executable)


def _link(env: Any, executable: Path) -> ValidationError | None:
    try:
        env.write_executable(executable)
    except CommandError as error:
        return ValidationError("Compilation failed", {"stderr": str(error)})
    return None
