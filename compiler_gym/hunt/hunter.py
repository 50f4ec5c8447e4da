"""A hunt: a series of trials, with its progress in a folder."""

import itertools
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.task import Job, Task
from compiler_gym.distributed.threads import thread_pool
from compiler_gym.distributed.worker import Worker
from compiler_gym.hunt.findings import Findings
from compiler_gym.hunt.passes import Sequences
from compiler_gym.hunt.trial import Laboratory, Outcome, Trial
from compiler_gym.util.filesystem import atomic_file_write, locked_folder

_STATE = "state.json"
# A hunt ends if so many trials fail before one works.
_FIRST_TRIALS = 5
# The resolution of sizes when a sequence is tested for novelty.
_SIZES_PER_DOUBLING = 32


@dataclass
class Progress:
    """The progress of a hunt, as saved in its folder.

    Attributes:
        seed: The seed of the hunt.
        next: The number of the next trial.
        seconds: The total time of all sessions.
        verdicts: The number of trials by verdict, see :class:`Outcome`.
        kept: The sequences that did something new.
    """

    seed: int
    next: int = 0
    seconds: float = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    kept: list[list[str]] = field(default_factory=list)

    @property
    def trials(self) -> int:
        """The number of completed trials."""
        return sum(self.verdicts.values())


@runtime_checkable
class TrialWork(Task, Protocol):
    """A trial as a task of a pool."""

    @property
    def trial(self) -> Trial:
        """The trial."""


@dataclass(frozen=True)
class _TrialHere:
    """A trial in a thread of this process.

    Attributes:
        trial: The trial.
        laboratory: Makes it.
    """

    trial: Trial
    laboratory: Laboratory

    @property
    def name(self) -> str:
        """The name of the task."""
        return f"trial {self.trial.number}"

    def run(self, worker: Worker) -> Outcome:
        """Makes the trial."""
        return replace(self.laboratory, stop=worker.stop).run(self.trial)


class Hunt:
    """A hunt in a folder. One thread calls its functions; trials have threads of their own.

    Trials are numbered. The random numbers of each depend on the seed and its number, but its draws
    also depend on earlier findings.

    Args:
        folder: The folder of findings and progress.
        sequences: Draws the sequences to try.
        seed: The seed. A resumed hunt keeps its own.

    Attributes:
        progress: The progress.
        given_up: The number of trials that were running at the end.
        failures: The reasons why trials failed, since the hunt was resumed.
    """

    def __init__(self, folder: Path, sequences: Sequences, seed: int):
        self._folder = folder
        self.progress = Progress(seed)
        self.given_up = 0
        self.failures: list[str] = []
        self._sequences = sequences
        self._begin = time.monotonic()
        self._met: set[tuple[str, int]] = set()

    def run(
        self,
        laboratory: Laboratory,
        jobs: int,
        trials: int | None,
        seconds: float | None,
        watch: Callable[[Outcome], None],
    ) -> None:
        """Hunts until enough trials have been made, the time is over, or Ctrl-C is pressed.

        Trials that are running at the end are cancelled. They do not count, and are not repeated.
        No process is left behind.

        Args:
            laboratory: Makes the trials.
            jobs: The number of parallel trials.
            trials: The number of trials; None for no limit.
            seconds: The time budget; None for no limit.
            watch: Called with each outcome.

        Raises:
            KeyboardInterrupt: After Ctrl-C.
            OSError: If the folder cannot be written.
            RuntimeError: If no trial works, for example because there is no ``opt``.
        """
        with thread_pool(jobs) as pool:
            self.run_on(
                pool,
                laboratory.findings,
                lambda trial, _: _TrialHere(trial, laboratory),
                lambda outcome: outcome,
                trials,
                seconds,
                watch,
            )

    def run_on(
        self,
        pool: Pool,
        findings: Findings,
        task_of: Callable[[Trial, float], TrialWork],
        outcome_of: Callable[[Any], Outcome],
        trials: int | None,
        seconds: float | None,
        watch: Callable[[Outcome], None],
    ) -> None:
        """Hunts on the workers of a pool, see :meth:`run`.

        Args:
            pool: The pool.
            findings: The findings.
            task_of: Returns the task of a trial, given the seconds until the end.
            outcome_of: Returns the outcome of a trial, given the result of its task.
            trials: The number of trials; None for no limit.
            seconds: The time budget; None for no limit.
            watch: Called with each outcome.

        Raises:
            KeyboardInterrupt: After Ctrl-C.
            PoolError: If there are no workers.
            OSError: If the folder cannot be written.
            RuntimeError: If no trial works, for example because there is no ``opt``.
        """
        end = math.inf if seconds is None else time.monotonic() + seconds

        def jobs() -> Iterator[Job]:
            for _ in itertools.repeat(None) if trials is None else range(trials):
                seconds_left = end - time.monotonic()
                if seconds_left <= 0:
                    return
                yield Job(task_of(self.draw(findings), seconds_left))

        with self.resumed():
            try:
                with closing(pool.run(jobs(), end)) as results:
                    for result in results:
                        assert isinstance(result.task, TrialWork)
                        outcome = Outcome("", "failed", result.error or "")
                        if result.error is None:
                            outcome = outcome_of(result.value)
                        self.take(result.task.trial, outcome)
                        watch(outcome)
            finally:
                self.given_up = pool.stats.abandoned

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Locks the folder, and resumes its hunt.

        Raises:
            OSError: If another hunt uses the folder.
        """
        with locked_folder(self._folder):
            self.progress = _read_progress(self._folder / _STATE, self.progress.seed)
            self._sequences.kept = self.progress.kept
            self._begin = time.monotonic() - self.progress.seconds
            try:
                yield
                if self.failures and self.progress.trials == len(self.failures):
                    raise self._hopeless()
            finally:
                self.progress.seconds = time.monotonic() - self._begin

    def draw(self, findings: Findings) -> Trial:
        """Returns the next trial, for which passes that were often guilty are less likely."""
        seed, number = self.progress.seed, self.progress.next
        self.progress.next += 1
        sequence = self._sequences.draw(random.Random(f"{seed} {number}"), findings.guilty())
        return Trial(number, seed, sequence)

    def take(self, trial: Trial, outcome: Outcome) -> None:
        """Counts a trial, learns from its outcome, and saves how far the hunt came.

        Raises:
            OSError: If the folder cannot be written.
            RuntimeError: If no trial works, for example because there is no ``opt``.
        """
        self.progress.verdicts[outcome.verdict] += 1
        if outcome.verdict == "failed":
            self.failures.append(outcome.details)
            if self.progress.trials == len(self.failures) >= _FIRST_TRIALS:
                raise self._hopeless()
        if outcome.growth > 0:
            # Novelty: the program shrinks or grows in a new way for its dataset.
            size = round(math.log2(outcome.growth) * _SIZES_PER_DOUBLING)
            met = outcome.program.rpartition("/")[0], size
            if met not in self._met:
                self._met.add(met)
                self._sequences.keep(trial.sequence, random.Random(trial.number))
        self.progress.seconds = time.monotonic() - self._begin
        self._write()

    def _hopeless(self) -> RuntimeError:
        return RuntimeError(f"no trial works; the first failed with {self.failures[0]}")

    def _write(self) -> None:
        with atomic_file_write(self._folder / _STATE, fileobj=True, mode="w") as file:
            json.dump(vars(self.progress), file)


def _read_progress(path: Path, seed: int) -> Progress:
    if not path.is_file():
        return Progress(seed)
    values = json.loads(path.read_text(encoding="utf-8"))
    return Progress(**{**values, "verdicts": Counter(values["verdicts"])})
