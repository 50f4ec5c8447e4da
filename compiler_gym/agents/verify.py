"""Verification of an optimised program before its reward."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from compiler_gym.agents.texts import kept_symbols
from compiler_gym.envs.llvm.benchmarks.validation import (
    ProgramValidator,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.errors import ServiceError, ValidationError

_Callback = Callable[[Any], Iterator[ValidationError]]


@dataclass(frozen=True)
class Verdict:
    """The result of a verification.

    Attributes:
        problems: The problems, a line each; empty if none is known.
        checks: The checks, a phrase each.
        has_run: True if the program was run and its output compared.
    """

    problems: tuple[str, ...]
    checks: tuple[str, ...]
    has_run: bool

    @property
    def is_right(self) -> bool:
        """True if there is no problem."""
        return not self.problems


def verify(
    env: LlvmEnv,
    symbols: frozenset[str],
    may_run: bool,
    seconds: float,
    repeat_with_opt: bool = False,
) -> Verdict:
    """Verifies the program of an environment. Does not change the environment.

    LLVM's verifier has seen the program after each pass already.

    Args:
        env: The environment.
        symbols: The symbols that other modules may use, before any pass.
        may_run: Run the program, if possible.
        seconds: The time limit of each run.
        repeat_with_opt: Check that ``opt`` makes the same program with the same passes.
    """
    checks = ["LLVM's verifier", "symbols that other modules may use"]
    problems = [*_lost_symbols(env.ir, symbols)]
    callbacks: list[_Callback] = []
    assert env.benchmark is not None
    for callback in env.benchmark.validation_callbacks():
        if callback is validate_against_opt:
            if repeat_with_opt:
                checks.append("opt makes the same program")
                callbacks.append(callback)
        elif may_run:
            checks.append("output of the program")
            callbacks.append(_bounded(callback, seconds))
    has_run = "output of the program" in checks and not problems
    if not problems:
        problems = [*_errors(env, callbacks)]
    return Verdict(tuple(problems), tuple(checks), has_run)


def _lost_symbols(ir: str, symbols: frozenset[str]) -> Iterator[str]:
    lost = sorted(symbols - kept_symbols(ir))
    if lost:
        names = ", ".join(lost[:10])
        yield f"symbols that other modules may use are gone: {names}"


def _bounded(callback: Any, seconds: float) -> Any:
    """Returns a validation callback with a time limit for each run, if possible."""
    if isinstance(callback, ProgramValidator):
        return replace(callback, runs=[replace(run, seconds=seconds) for run in callback.runs])
    if isinstance(callback, ReferenceValidator):
        return replace(callback, run_seconds=seconds, reference_seconds=seconds)
    return callback


def _errors(env: LlvmEnv, callbacks: list[_Callback]) -> Iterator[str]:
    for callback in callbacks:
        with env.fork() as fork:  # Some callbacks reset the environment.
            try:
                for error in callback(fork):
                    data = error.data.get("stderr") or error.data.get("actual") or ""
                    yield f"{error.type}: {' '.join(str(data).split())[:200]}".rstrip(": ")
            except ServiceError as error:
                yield f"{type(error).__name__}: {error}"[:300]
