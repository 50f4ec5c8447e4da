"""Validation of programs by clang's sanitizers, which find errors that outputs do not show."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes, check_bounds
from compiler_gym.envs.llvm.benchmarks.validation import (
    RUN_TIMEOUT_SECONDS,
    ProgramEnv,
    ProgramRun,
    ProgramValidator,
    ReferenceValidator,
    before_and_after,
    build_program,
    run_program,
    settled,
)
from compiler_gym.errors import ValidationError

SANITIZERS = ("address", "memory", "thread", "undefined")
"""Those that work on a program in LLVM's IR. Of undefined behaviour that is accesses beyond the end
of an object whose size is known: what else there is, clang's front end would have to look for."""

_FOUND = {
    "address": "Memory error",
    "memory": "Memory error",
    "thread": "Data race",
    "undefined": "Memory error",
}
_NAMES = {
    "address": "AddressSanitizer",
    "memory": "MemorySanitizer",
    "thread": "ThreadSanitizer",
    "undefined": "UndefinedBehaviorSanitizer",
}
# A sanitizer makes programs several times as slow.
_SLOWER = 5


def with_sanitizers(benchmark: Benchmark, sanitizers: Sequence[str] = SANITIZERS) -> Benchmark:
    """Adds sanitizers to the validation of a benchmark.

    ::

        env.reset(benchmark=with_sanitizers(env.datasets.benchmark("kernels-v0/json")))
        env.multistep(["sroa", "gvn"])
        print(env.validate())

    Args:
        benchmark: A program that is validated by running it. It is not changed.
        sanitizers: Which, of :data:`SANITIZERS`.

    Returns:
        A benchmark with the same URI and program, and a validation callback for each sanitizer.

    Raises:
        ValueError: If there is no such sanitizer, or nobody knows how to run the program.
    """
    if unknown := [name for name in sanitizers if name not in SANITIZERS]:
        raise ValueError(
            f"There is no sanitizer {unknown[0]!r} for bitcode: there are {', '.join(SANITIZERS)}"
        )
    callbacks = benchmark.validation_callbacks()
    known = [each for each in callbacks if isinstance(each, ProgramValidator | ReferenceValidator)]
    if not known:
        raise ValueError(f"{benchmark.uri} has no command to run it, so sanitizers cannot check it")
    added = [
        SanitizerValidator(known[0].runs, known[0].linker_options, name) for name in sanitizers
    ]
    return Benchmark(
        proto=benchmark.proto,
        validation_callbacks=[*callbacks, *added],
        sources=benchmark.sources,
    )


@dataclass(frozen=True)
class SanitizerValidator:
    """A validation callback that builds the program with a sanitizer, and runs it.

    The program is instrumented as it is, without further passes. What it makes is not compared.

    Attributes:
        runs: The runs to make.
        linker_options: Options for the linker.
        sanitizer: One of :data:`SANITIZERS`.
    """

    runs: Sequence[ProgramRun]
    linker_options: Sequence[str]
    sanitizer: str

    def __call__(self, env: ProgramEnv) -> Iterator[ValidationError]:
        """Validates the program of an environment, which is reset.

        Yields:
            ``Memory error``, ``Data race``, or what :class:`ProgramValidator` yields. If it is the
            unoptimised program, nothing is known of the other, and the type ends in ``of the
            unoptimised program``.

        Raises:
            EnvironmentNotSupported: If the LLVM tools are not installed.
            ServiceError: If the program cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            unoptimised, bitcode = before_and_after(env, Path(name))
            for error in self._errors_of(unoptimised):
                yield ValidationError(f"{error.type} of the unoptimised program", error.data)
                return
            yield from self._errors_of(bitcode)

    def _errors_of(self, program: Path) -> Iterator[ValidationError]:
        marked, executable = program.with_suffix(".marked.bc"), program.with_suffix("")
        if self.sanitizer == "undefined":
            check_bounds(program, marked)
        else:
            add_attributes(program.read_bytes(), marked, [f"sanitize_{self.sanitizer}"])
        options = ["-O0", "-w", f"-fsanitize={self.sanitizer}", *self.linker_options]
        error = build_program(marked, executable, options)
        if error:
            yield error
            return
        stdout = executable.with_name("stdout")
        for run in self.runs:
            # Memory that is not given back is no sign of a compiler's mistake.
            command = f"ASAN_OPTIONS=detect_leaks=0; export ASAN_OPTIONS; {run.command}"
            check = partial(
                run_program,
                executable,
                replace(run, command=command),
                stdout,
                _SLOWER * RUN_TIMEOUT_SECONDS,
            )
            error = settled(check)
            if error:
                yield self._classified(error)

    def _classified(self, error: ValidationError) -> ValidationError:
        said = str(error.data.get("stderr", ""))
        if _NAMES[self.sanitizer] not in said:
            return error
        return ValidationError(_FOUND[self.sanitizer], {**error.data, "sanitizer": self.sanitizer})
