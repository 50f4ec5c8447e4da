"""Mines programs: scans them, and reduces and checks the most promising functions."""

import json
import logging
import math
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Datasets
from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.task import Job, reason_of
from compiler_gym.distributed.threads import Call, thread_pool
from compiler_gym.distributed.worker import Worker
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.mine.decisions import Decision
from compiler_gym.mine.findings import (
    Finding,
    Findings,
    Member,
    name_of,
    shape_of,
    versions_of,
)
from compiler_gym.mine.objective import Trial
from compiler_gym.mine.programs import Program
from compiler_gym.mine.scripts import MODULE
from compiler_gym.mine.work import (
    Candidate,
    Reduction,
    Scanned,
    Settings,
    digest_of,
    reduce_function,
    scan_unit,
)
from compiler_gym.util.filesystem import atomic_file_write, locked_folder
from compiler_gym.util.shell_format import plural

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Unit:
    """A program that has yet to be scanned.

    Attributes:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        path: Its bitcode.
    """

    program: str
    key: str
    path: Path


@dataclass
class Outcome:
    """The result of a candidate.

    Attributes:
        verdict: ``found``, ``known``, ``bogus`` or ``not alone``: then the saving does not show in
            the function by itself.
        name: The finding; empty if there is none.
        why: Why it is bogus.
    """

    verdict: str
    name: str = ""
    why: str = ""


@dataclass
class Row:
    """The cost of a decision over a corpus.

    Attributes:
        decision: The decision in words.
        files: The programs in which a function costs less with it.
        functions: These functions.
        saved: The cost that it saves in these.
        net: The cost that it saves in all functions; negative if they cost more.
        share: ``saved`` as a share of the cost of all functions.
        findings: How many distinct findings there are.
    """

    decision: str
    files: int = 0
    functions: int = 0
    saved: int = 0
    net: int = 0
    share: float = 0
    findings: int = 0


@dataclass
class Mine:
    """Mines programs into a folder, and continues an earlier call.

    Args:
        folder: The folder, which need not exist.
        datasets: Where programs are looked up.
        settings: The settings.
        report: Called with a line about each thing that happens.

    Attributes:
        scanned: The programs so far.
        failed: Programs that cannot be mined, with the reasons.
        skipped: How many programs there was no time for.
        verdicts: How many candidates had which verdict.
        why_bogus: The candidates that did not count, with the reasons.
    """

    folder: Path
    datasets: Datasets
    settings: Settings
    report: Callable[[str], None] = lambda _: None
    scanned: list[Scanned] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    why_bogus: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.findings = Findings(self.folder / self.settings.objective.findings)
        self._adopting = threading.Lock()
        self._units: dict[str, Path] = {}
        self._end = self._end_of_scans = math.inf

    def run(self, programs: Sequence[Program], jobs: int) -> None:
        """Scans programs, and reduces promising functions.

        Args:
            programs: The programs.
            jobs: How many compilers run at a time.

        Raises:
            KeyboardInterrupt: After Ctrl-C. Nothing that was started is left.
            OSError: If another process uses the folder, or it cannot be written.
        """
        with self.opened() as folder, thread_pool(jobs) as pool:
            self._each(
                pool, (Call(each.name, partial(self._scan, each, folder)) for each in programs)
            )
            self._each(
                pool,
                (Call(each.title, partial(self._take, each, folder)) for each in self.candidates()),
            )

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """Locks the folder and starts the clock; yields a scratch folder.

        Raises:
            OSError: If another process uses the folder, or it cannot be written.
        """
        self._end = time.monotonic() + self.settings.seconds
        self._end_of_scans = time.monotonic() + self.settings.seconds / 2
        with (
            locked_folder(self.folder),
            tempfile.TemporaryDirectory(prefix="compiler_gym-") as scratch,
        ):
            for name in ("programs", "candidates"):
                (self.folder / name).mkdir(exist_ok=True)
            yield Path(scratch)

    def table(self) -> list[Row]:
        """Returns the cost of each decision over all programs, the largest saving first."""
        rows: dict[Decision, Row] = {}
        total = sum(each.size for each in self.scanned)
        for program in self.scanned:
            for effect in program.effects:
                row = rows.setdefault(effect.decision, Row(effect.decision.title))
                row.files += 1
                row.functions += len(effect.savings)
                row.saved += effect.saved
                row.net += effect.net
        for decision, row in rows.items():
            row.share = row.saved / total
            row.findings = self.findings.count_of(decision)
        return sorted(rows.values(), key=lambda row: (-row.saved, row.decision))

    def ranked(self) -> list[Finding]:
        """Returns the findings; those whose decision saves most over the corpus come first."""
        saved = {row.decision: row.saved for row in self.table()}
        return sorted(self.findings.all(), key=lambda each: -saved.get(each.title, 0))

    def _each(self, pool: Pool, calls: Iterable[Call]) -> None:
        """Does some work in threads, and notes what fails."""
        with closing(pool.run(map(Job, calls))) as outcomes:
            for outcome in outcomes:
                with self.reporting(outcome.task.name):
                    outcome.result()

    def _scan(self, program: Program, scratch: Path, worker: Worker) -> None:
        unit = self.stage(program, scratch)
        if unit is None:
            return
        is_over = worker.stop.is_set
        found = scan_unit(unit.program, unit.key, unit.path, self.settings, is_over)
        if not is_over():  # Otherwise the compilers have been killed.
            self.keep(found)

    @contextmanager
    def reporting(self, name: str) -> Iterator[None]:
        """Notes an error of the work on a program or a function. The other work goes on."""
        try:
            yield
        except Exception as error:
            logger.info("%s failed", name, exc_info=True)
            is_usual = isinstance(error, BenchmarkInitError | ValueError)
            self.fail(name, str(error) if is_usual else reason_of(error))

    def stage(self, program: Program, scratch: Path) -> Unit | None:
        """Writes the bitcode of a program to a folder.

        Returns:
            The program if it has to be scanned; None if it has been, or if there is no time left.

        Raises:
            Exception: Any error of :meth:`Program.write`.
        """
        folder = Path(tempfile.mkdtemp(dir=scratch))
        path = program.write(self.datasets, folder, self.settings.objective.level)
        key = digest_of(path.read_bytes(), self.settings.digest.encode())
        kept = self.folder / "programs" / f"{key}.json"
        if kept.is_file():
            self._units[key] = path
            self.scanned.append(Scanned.from_json(json.loads(kept.read_text(encoding="utf-8"))))
        elif time.monotonic() >= self._end_of_scans:
            self.skipped += 1
        else:
            self._units[key] = path
            return Unit(program.name, key, path)
        return None

    def fail(self, program: str, reason: str) -> None:
        """Notes that a program cannot be mined."""
        self.failed[program] = reason.partition("\n")[0]

    def keep(self, scanned: Scanned) -> None:
        """Keeps the scan of a program."""
        _write(self.folder / "programs" / f"{scanned.key}.json", scanned.as_json())
        self.scanned.append(scanned)
        decisions = plural(len(scanned.effects), "decision")
        self.report(f"{scanned.program}: {self.settings.objective.gain} with {decisions}")

    def candidates(self) -> list[Candidate]:
        """Returns the functions to reduce: of each decision the one that gains most, and so on."""
        self.scanned.sort(key=lambda each: each.program)
        settings = self.settings
        groups: dict[Decision, list[Candidate]] = defaultdict(list)
        for program in self.scanned:
            for effect in program.effects:
                groups[effect.decision] += [
                    Candidate(program, effect.decision, each)
                    for each in effect.savings
                    if settings.objective.is_promising(each, settings.least)
                ]
        rounds: list[tuple[int, Candidate]] = []
        for group in groups.values():
            group.sort(key=lambda each: (-each.saving.saved / each.saving.before, each.key))
            # A function may be in several programs: its copies say nothing new.
            names: dict[str, Candidate] = {}
            for each in group:
                names.setdefault(each.saving.function, each)
            rounds += enumerate([*names.values()][: settings.per_decision])
        return [each for _, each in sorted(rounds, key=lambda item: item[0])]

    def _take(self, candidate: Candidate, scratch: Path, worker: Worker) -> None:
        if not self.is_left(candidate):
            return
        folder = Path(tempfile.mkdtemp(dir=scratch))
        function, unit = candidate.saving.function, self.unit_of(candidate)
        reduction = reduce_function(unit, function, candidate.decision, self.settings, folder)
        if not worker.stop.is_set():
            self.adopt(candidate, reduction, folder)

    def unit_of(self, candidate: Candidate) -> Path:
        """Returns the bitcode of the program of a function."""
        return self._units[candidate.scanned.key]

    def is_left(self, candidate: Candidate) -> bool:
        """Returns whether a function has to be reduced, and there is time; counts old outcomes."""
        path = self._outcome_path(candidate)
        if path.is_file():
            self._count(candidate, Outcome(**json.loads(path.read_text(encoding="utf-8"))))
            return False
        return time.monotonic() < self._end

    def adopt(self, candidate: Candidate, reduction: Reduction, folder: Path) -> None:
        """Keeps a reduced function as a finding, unless there is one like it.

        Args:
            candidate: The function.
            reduction: The result of its reduction.
            folder: A scratch folder.
        """
        outcome = Outcome(reduction.verdict, why=reduction.why)
        if reduction.verdict == "reduced":
            with self._adopting:  # Two threads may have reduced functions to the same finding.
                outcome = self._adopted(candidate, reduction, folder)
        _write(self._outcome_path(candidate), vars(outcome))
        self.report(
            f"{candidate.decision.title}, {candidate.saving.function} of "
            f"{candidate.scanned.program}: {outcome.verdict} {outcome.name or outcome.why}"
        )
        self._count(candidate, outcome)

    def _count(self, candidate: Candidate, outcome: Outcome) -> None:
        self.verdicts[outcome.verdict] += 1
        if outcome.why:
            name = f"{candidate.saving.function}, {candidate.decision.title}"
            self.why_bogus[name] = outcome.why

    def _outcome_path(self, candidate: Candidate) -> Path:
        return self.folder / "candidates" / f"{candidate.key}.json"

    def _adopted(self, candidate: Candidate, reduction: Reduction, folder: Path) -> Outcome:
        settings, decision = self.settings, candidate.decision
        saving = candidate.saving
        member = Member(candidate.scanned.program, saving.function, saving.saved)
        shape = shape_of(reduction.module)
        known = self.findings.count_known(decision, shape, member)
        if known is not None:
            return Outcome("known", known.name)
        module = folder / MODULE
        module.write_text(reduction.module)
        objective = settings.objective
        trial = Trial(
            module,
            saving.function,
            decision,
            objective.saving_of(reduction.before, reduction.after),
            settings.tools,
            folder,
        )
        finding = Finding(
            name=name_of(decision, shape),
            kind=decision.kind.value,
            text=decision.text,
            title=decision.title,
            before=reduction.before,
            after=reduction.after,
            lines=reduction.lines,
            is_complete=reduction.is_complete,
            shape=shape,
            checks={**reduction.checks},
            versions=versions_of(objective, trial, settings.versions),
            members=[member],
        )
        self.findings.add(finding, objective, trial)
        return Outcome("found", finding.name)


def _write(path: Path, value: Any) -> None:
    with atomic_file_write(path, fileobj=True, mode="w") as file:
        json.dump(value, file)
