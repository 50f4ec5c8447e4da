"""The trials of a hunt for compiler defects, as tasks of a pool."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.task import name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
from compiler_gym.hunt.failures import Limits
from compiler_gym.hunt.findings import Finding, Findings
from compiler_gym.hunt.hunter import Hunt
from compiler_gym.hunt.programs import Programs
from compiler_gym.hunt.trial import Laboratory, Outcome, Trial
from compiler_gym.util import llvm_tools
from compiler_gym.util.findings import write_facts

# A trial runs opt and the program several times before it makes a finding smaller.
_RUNS_PER_TRIAL = 20


@dataclass(frozen=True)
class Setup:
    """The settings that all trials of a hunt share.

    Attributes:
        uris: The URIs of datasets and programs, which each node looks up by itself.
        opt: The path of ``opt`` on the nodes; None for the one that each node finds.
        actions: The elements of ``module(...)`` that are actions.
        limits: The limits of a run.
    """

    uris: tuple[str, ...]
    opt: Path | None
    actions: frozenset[str]
    limits: Limits

    @property
    def task_seconds(self) -> float:
        """The longest time that a trial may take."""
        return self.limits.reduce_seconds + _RUNS_PER_TRIAL * self.limits.wall_seconds


@dataclass(frozen=True)
class FoundFile:
    """A file of a finding.

    Attributes:
        data: Its bytes.
        mode: Its permissions.
    """

    data: bytes
    mode: int


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial on another machine.

    Attributes:
        outcome: The outcome.
        files: The files of a new finding by their names; empty if there is none.
    """

    outcome: Outcome
    files: Mapping[str, FoundFile] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialTask:
    """A trial of a hunt.

    Attributes:
        setup: The settings of the hunt.
        trial: The trial.
        known: The findings that need not be made smaller again.
        seconds: The time until the end of the hunt.
    """

    setup: Setup
    trial: Trial
    known: tuple[Finding, ...]
    seconds: float

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"trial": 1, **asdict(self.trial), "uris": self.setup.uris})

    def run(self, worker: Worker) -> TrialResult:
        """Makes the trial.

        Raises:
            EnvironmentNotSupported: If the node has no ``opt`` or clang.
            LookupError: If the node does not have one of the datasets.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-hunt-") as name:
            folder = Path(name)
            for finding in self.known:
                (folder / finding.name).mkdir()
                write_facts(folder / finding.name, finding)
            laboratory = Laboratory(
                opt=self.setup.opt or llvm_tools.opt_path(),
                clang=llvm_tools.clang_path(),
                programs=_programs(self.setup.uris),
                findings=Findings(folder, self.setup.actions),
                limits=self.setup.limits,
                report=lambda _: None,
                end=time.monotonic() + self.seconds,
                stop=worker.stop,
            )
            outcome = laboratory.run(self.trial)
            if outcome.verdict != "found" or outcome.finding is None:
                return TrialResult(outcome)
            paths = (folder / outcome.finding.name).iterdir()
            files = {path.name: FoundFile(path.read_bytes(), path.stat().st_mode) for path in paths}
            return TrialResult(outcome, files)


@cache
def _programs(uris: tuple[str, ...]) -> Programs:
    """Returns the programs of a hunt, which remember those that are of no use."""
    return Programs(LlvmDatasets(get_llvm_datasets()), uris)


def hunt_on_pool(
    hunt: Hunt,
    findings: Findings,
    pool: Pool,
    setup: Setup,
    trials: int | None,
    seconds: float | None,
    watch: Callable[[Outcome], None],
) -> None:
    """Hunts on the workers of a pool: see :meth:`Hunt.run`.

    Args:
        hunt: The hunt.
        findings: Its findings, which come from the workers.
        pool: The pool.
        setup: The settings of the trials.
        trials: How many to make; None for any number.
        seconds: How long to hunt; None for any time.
        watch: Called with each outcome.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
        PoolError: If there are no workers.
        RuntimeError: If no trial works, for example because nodes have no ``opt``.
        OSError: If the folder cannot be written.
    """
    hunt.run_on(
        pool,
        findings,
        lambda trial, seconds: TrialTask(setup, trial, tuple(findings.all()), seconds),
        lambda result: _adopted(result, findings),
        trials,
        seconds,
        watch,
    )


def _adopted(result: TrialResult, findings: Findings) -> Outcome:
    """Returns the outcome of a trial, whose finding is now among those of the hunt."""
    outcome = result.outcome
    if outcome.finding is None:
        return outcome
    with tempfile.TemporaryDirectory(prefix="compiler_gym-hunt-") as name:
        for file_name, file in result.files.items():
            path = Path(name) / file_name
            path.write_bytes(file.data)
            path.chmod(file.mode & 0o777)
        finding = findings.adopt(outcome.finding, Path(name))
    verdict = "found" if result.files and finding.seen == 1 else "known"
    return replace(outcome, verdict=verdict, finding=finding)
