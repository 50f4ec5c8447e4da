"""Measurement of a pass: its effect on the cost of programs in the middle of episodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.util.statistics import bootstrap_interval

CONFIDENCE = 0.95
_RESAMPLES = 2000

# Errors that only a program that the pass has changed can have.
_KINDS_OF_CHANGES = ("invalid IR", "wrong output")


@dataclass(frozen=True)
class Trial:
    """One comparison of a program with the pass and without it.

    Attributes:
        benchmark: The URI of the program.
        prefix: The actions before, with which both begin.
        changed: Whether the pass changed the program.
        without: The cost after the prefix and the clean-up.
        with_pass: The cost after the prefix, the pass and the clean-up.
        is_run: Whether the program was run after these, and its outputs were right.
    """

    benchmark: str
    prefix: tuple[int, ...]
    changed: bool
    without: float
    with_pass: float
    is_run: bool = False

    @property
    def saving(self) -> float:
        """The saving as a share of the cost without the pass; negative for a regression."""
        return (self.without - self.with_pass) / self.without if self.without else 0.0


@dataclass(frozen=True)
class Failure:
    """A program that a pass broke.

    Attributes:
        benchmark: The URI of the program.
        prefix: The actions before.
        kind: ``"crash"``, ``"time limit"``, ``"invalid IR"``, ``"wrong output"``, or ``"refused"``
            for any other error.
        details: The message of the compiler or the validation.
    """

    benchmark: str
    prefix: tuple[int, ...]
    kind: str
    details: str

    @property
    def changed(self) -> bool | None:
        """True if the pass changed the program; None if unknown."""
        return True if self.kind in _KINDS_OF_CHANGES else None


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval, at the level :data:`CONFIDENCE`.

    Attributes:
        mean: The mean of the numbers.
        low: The lower end of the interval.
        high: The upper end.
    """

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``"helps"`` or ``"harms"`` if the interval lies on one side of zero."""
        if self.low > 0:
            return "helps"
        return "harms" if self.high < 0 else "not shown"


def estimate_mean(values: Sequence[float], rng: np.random.Generator) -> Estimate:
    """Estimates a mean by the percentile bootstrap, which resamples with replacement.

    It assumes no distribution. Savings have no known one, and many of them are zero.

    Args:
        values: At least one number. A single number gives an infinite interval.
        rng: Draws the samples.
    """
    low, high = bootstrap_interval(values, rng, CONFIDENCE, _RESAMPLES)
    return Estimate(float(np.mean(values)), low, high)


@dataclass(frozen=True)
class Measurement:
    """The settings of a measurement.

    Attributes:
        measured: The actions that are measured, usually one.
        clean_up: The actions done afterwards in both cases.
        cost: The name of a numeric observation; less is better.
        max_prefix: The largest number of actions of a beginning. Lengths are uniform from 0.
        timeout: The time limit of each request, in seconds.
        runs: On how many changed programs of a benchmark outputs are compared, if it can be run.
    """

    measured: Sequence[int]
    clean_up: Sequence[int]
    cost: str
    max_prefix: int
    timeout: float
    runs: int


def measure_trials(
    env: LlvmEnv,
    benchmark: str,
    measurement: Measurement,
    prefixes: int,
    rng: np.random.Generator,
) -> Iterator[Trial | Failure]:
    """Compares a program with a pass and without it, after random beginnings.

    A beginning after which the compiler fails without the pass is left out; others are drawn for
    it, up to twice the number asked for.

    Args:
        env: The environment.
        benchmark: The URI of the program.
        measurement: What to measure.
        prefixes: The number of comparisons.
        rng: Draws the beginnings.

    Raises:
        LookupError: If there is no such observation.
        BenchmarkInitError: If the program cannot be used.
        EnvironmentNotSupported: If clang is not installed, with which programs are run.
    """
    done = 0
    runs_left = measurement.runs
    for _ in range(2 * prefixes):
        length = int(rng.integers(0, measurement.max_prefix, endpoint=True))
        prefix = rng.integers(env.action_space.n, size=length).tolist()
        outcome = _compare(env, benchmark, prefix, measurement, runs_left > 0)
        if outcome is None:
            continue
        yield outcome
        runs_left -= isinstance(outcome, Trial) and outcome.is_run
        done += 1
        if done == prefixes:
            return


def _compare(
    env: LlvmEnv, benchmark: str, prefix: list[int], measurement: Measurement, can_run: bool
) -> Trial | Failure | None:
    """Makes one comparison; None if the compiler failed without the pass."""
    cost, timeout = [measurement.cost], measurement.timeout
    program = env.datasets.benchmark(benchmark)
    env.reset(benchmark=program)
    if env.multistep(prefix, timeout=timeout)[2]:
        return None
    with env.fork() as other:
        (without,), _, failed, _ = other.multistep(
            measurement.clean_up, observation_spaces=cost, timeout=timeout
        )
        if failed:
            return None
        _, _, failed, info = env.multistep(measurement.measured, timeout=timeout)
        changed = not failed and not info["action_had_no_effect"]
        if not failed:
            (with_pass,), _, failed, info = env.multistep(
                measurement.clean_up, observation_spaces=cost, timeout=timeout
            )
        if failed:
            kind = _failure_kind(info)
            return Failure(benchmark, tuple(prefix), kind, info.get("error_details", ""))
        is_run = can_run and changed and program.is_run_to_validate()
        errors = program.validate(env) if is_run else []
        if errors:
            # LLVM's own passes may be to blame, those before or after.
            if program.validate(other):
                return None
            return Failure(benchmark, tuple(prefix), "wrong output", str(errors[0]))
    return Trial(benchmark, tuple(prefix), changed, float(without), float(with_pass), is_run)


def _failure_kind(info: dict[str, Any]) -> str:
    """Returns what kind of failure a step reports."""
    kinds = {"TimeoutError": "time limit", "SessionDied": "crash", "SessionLost": "session lost"}
    if "verifier rejects" in info.get("error_details", ""):
        return "invalid IR"
    return kinds.get(info.get("error_type", ""), "refused")


def estimate_saving(trials: Sequence[Trial], rng: np.random.Generator) -> Estimate:
    """Estimates the mean saving on one program."""
    return estimate_mean([trial.saving for trial in trials], rng)


def estimate_saving_of_programs(
    trials: Sequence[Sequence[Trial]], rng: np.random.Generator
) -> Estimate:
    """Estimates the mean saving on programs like these.

    Comparisons of one program resemble each other, so the unit that counts is the program.

    Args:
        trials: Those of each program.
        rng: Draws the samples.
    """
    means = [float(np.mean([trial.saving for trial in each])) for each in trials if each]
    return estimate_mean(means, rng)
