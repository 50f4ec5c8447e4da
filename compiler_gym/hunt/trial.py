"""One trial: a program, a sequence of passes, and the outcome."""

import math
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.hunt.failures import (
    Failure,
    Kind,
    Limits,
    RefusedError,
    compare_results,
    run_passes,
)
from compiler_gym.hunt.findings import Finding, Findings
from compiler_gym.hunt.minimise import Minimiser
from compiler_gym.hunt.passes import name_of
from compiler_gym.hunt.programs import (
    Programs,
    linker_options_of,
    runs_of,
    write_bitcode,
    wrong_output,
)
from compiler_gym.hunt.reproducer import Reproducer

# The share of the remaining time for reduction. Writing a finding takes some time, too.
_SHARE_OF_THE_REST = 0.8


class StoppedError(Exception):
    """The hunt is ending. Errors from now on are a consequence."""


@dataclass(frozen=True)
class Trial:
    """A trial: a program and the passes to run on it.

    Attributes:
        number: Its number.
        seed: The seed of the hunt. With the number, it determines the program.
        sequence: The passes, elements of ``module(...)``.
    """

    number: int
    seed: int
    sequence: list[str]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial.

    Attributes:
        program: The URI of the program; empty if there is none.
        verdict: ``"fine"``, ``"refused"``, ``"useless"``, ``"found"``, ``"known"``,
            ``"not seen again"`` or ``"failed"``.
        details: The reason, or the kind of failure.
        finding: The finding, new or known.
        growth: The size of the bitcode after the passes divided by that before; 0 if there is none.
    """

    program: str
    verdict: str
    details: str = ""
    finding: Finding | None = None
    growth: float = 0.0


@dataclass(frozen=True)
class Laboratory:
    """The tools and limits that trials use. It is thread-safe.

    Attributes:
        opt: The path of ``opt``.
        clang: The path of ``clang``.
        programs: The programs.
        findings: The findings.
        limits: The limits of a run.
        report: Called with the current work of long trials.
        end: The end of the hunt, by :func:`time.monotonic`.
        stop: Set when the hunt ends.
    """

    opt: Path
    clang: Path
    programs: Programs
    findings: Findings
    limits: Limits
    report: Callable[[str], None]
    end: float = math.inf
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, trial: Trial) -> Outcome:
        """Makes a trial.

        Raises:
            StoppedError: If the hunt ends during the trial.
            OSError: If a tool cannot be started, or a file cannot be written.
        """
        rng = np.random.default_rng([trial.seed, trial.number])
        try:
            benchmark = self.programs.draw(rng)
        except (BenchmarkInitError, subprocess.SubprocessError) as error:
            self.end_if_stopped()
            return Outcome("", "useless", str(error))
        with tempfile.TemporaryDirectory(prefix="compiler_gym-hunt-") as name:
            return self._run(trial, benchmark, Path(name))

    def _run(self, trial: Trial, benchmark: Benchmark, folder: Path) -> Outcome:
        uri = str(benchmark.uri)
        module = folder / "input.bc"
        write_bitcode(benchmark, module)
        useless = self.programs.why_useless(benchmark, module)
        self.end_if_stopped()
        if useless is not None:
            return Outcome(uri, "useless", useless)
        try:
            failure = self._failure(trial, benchmark, module, folder)
        except RefusedError as error:
            self.end_if_stopped()
            return Outcome(uri, "refused", str(error))
        self.end_if_stopped()
        if failure is None:
            after = (folder / "output.bc").stat().st_size
            return Outcome(uri, "fine", growth=after / module.stat().st_size)
        return self._outcome(trial, benchmark, failure, module)

    def _failure(
        self, trial: Trial, benchmark: Benchmark, module: Path, folder: Path
    ) -> Failure | None:
        """Returns the failure of a trial, or None."""
        output = folder / "output.bc"
        failure = run_passes(self.opt, trial.sequence, module, output, self.limits)
        if failure is not None:
            return self._confirmed(failure, trial, module, output)
        error = wrong_output(benchmark, module, output)
        if error is not None:
            return Failure(Kind.WRONG_OUTPUT, messages=str(error))
        for _ in range(self.limits.repeats - 1):
            again = folder / "again.bc"
            failure = run_passes(self.opt, trial.sequence, module, again, self.limits)
            failure = failure or compare_results(output, again)
            if failure is not None:
                return failure
        return None

    def _confirmed(
        self, failure: Failure, trial: Trial, module: Path, output: Path
    ) -> Failure | None:
        """Repeats a timeout with double the time, unless opt is slow without passes."""
        if failure.kind is not Kind.HANG:
            return failure
        self.end_if_stopped()
        quick = self.limits.shares(1 / 4)
        if run_passes(self.opt, ["verify"], module, output, quick) is not None:
            raise RefusedError("opt takes too long for this program without any pass")
        longer = self.limits.shares(2)
        return run_passes(self.opt, trial.sequence, module, output, longer)

    def _outcome(
        self, trial: Trial, benchmark: Benchmark, failure: Failure, module: Path
    ) -> Outcome:
        uri = str(benchmark.uri)
        known = self.findings.count_known(failure)
        if known is not None:
            return Outcome(uri, "known", failure.kind.value, known)
        self.report(f"trial {trial.number}: {failure.kind.value}, being reduced")
        for number, reproducer in enumerate(self._reproducers(trial, benchmark, failure)):
            folder = module.parent / f"smaller-{number}"
            minimiser = Minimiser(folder, self.reduce_seconds(), self.end_if_stopped)
            fewest = minimiser.with_fewest_passes(reproducer, module)
            self.end_if_stopped()
            if fewest is not None:
                found = self._found(trial, uri, failure, minimiser, *fewest)
                return Outcome(uri, "found" if found.seen == 1 else "known", found.kind, found)
        return Outcome(uri, "not seen again", failure.kind.value)

    def reduce_seconds(self) -> float:
        """Returns the time limit for reduction, so that the finding is ready before the end."""
        return min(self.limits.reduce_seconds, _SHARE_OF_THE_REST * (self.end - time.monotonic()))

    def _found(
        self,
        trial: Trial,
        uri: str,
        failure: Failure,
        minimiser: Minimiser,
        reproducer: Reproducer,
        module: Path,
    ) -> Finding:
        if not failure.guilty:
            # If LLVM names no pass, the guilty one is the last necessary pass.
            failure = replace(failure, guilty=name_of(reproducer.sequence[-1]))
            known = self.findings.count_known(failure)
            if known is not None:
                return known
        minimal = minimiser.with_smallest_module(reproducer, module)
        self.end_if_stopped()
        return self.findings.add(failure, minimal, uri, trial.number, trial.sequence)

    def _reproducers(
        self, trial: Trial, benchmark: Benchmark, failure: Failure
    ) -> Iterator[Reproducer]:
        """Yields scripts that may reproduce a failure: one for each run of the program."""
        script = Reproducer(failure, tuple(trial.sequence), self.opt, self.clang, self.limits)
        if failure.kind is not Kind.WRONG_OUTPUT:
            yield script
            return
        options = linker_options_of(benchmark)
        for run in runs_of(benchmark):
            yield replace(script, run=run, link_options=options)

    def end_if_stopped(self) -> None:
        """Raises StoppedError if the hunt is ending."""
        if self.stop.is_set():
            raise StoppedError
