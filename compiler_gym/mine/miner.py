"""Mines programs: scans them, and reduces and checks the most promising functions."""

import hashlib
import json
import math
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Datasets
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.mine.checks import check
from compiler_gym.mine.decisions import Decision, Kind, Tools
from compiler_gym.mine.findings import (
    Finding,
    Findings,
    Member,
    name_of,
    shape_of,
    versions_of,
    write_report,
)
from compiler_gym.mine.programs import Program
from compiler_gym.mine.reduction import Reducer
from compiler_gym.mine.scan import Effect, Saving, measure, scan
from compiler_gym.util.commands import commands_of, kill_running_commands
from compiler_gym.util.file_lock import file_lock
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.shell_format import plural

_POLL_SECONDS = 0.2
# Reducing larger functions takes longer than a look at the next one.
_MAX_FUNCTION_BYTES = 2000


@dataclass(frozen=True)
class Settings:
    """The settings of a mine.

    Attributes:
        decisions: The decisions that are tried.
        tools: The LLVM.
        versions: Each LLVM that reports name, by its version, the own one first.
        least: The bytes that a decision has to save of a function.
        per_decision: How many functions are reduced for each decision, at most.
        reduce_seconds: How long ``llvm-reduce`` may take for each.
        seconds: After how many seconds no further function is begun. After half of that, no
            further program is.
    """

    decisions: Sequence[Decision]
    tools: Tools
    versions: Mapping[str, Tools]
    least: int = 4
    per_decision: int = 3
    reduce_seconds: float = 60
    seconds: float = math.inf

    @property
    def digest(self) -> str:
        """A digest of all that results depend on, besides the program."""
        facts = (sorted((*self.decisions,)), next(iter(self.versions)), self.least)
        return _digest(repr(facts).encode())


@dataclass(frozen=True)
class Scanned:
    """A program whose decisions have been measured.

    Attributes:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        size: Its bytes of code with ``clang -Oz``.
        effects: The decisions that make a function smaller.
    """

    program: str
    key: str
    size: int
    effects: tuple[Effect, ...]


@dataclass(frozen=True)
class Candidate:
    """A function that a decision makes smaller."""

    scanned: Scanned
    decision: Decision
    saving: Saving

    @property
    def key(self) -> str:
        """The name under which its outcome is kept."""
        text = f"{self.scanned.key} {self.decision.title} {self.saving.function}"
        return _digest(text.encode())


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
        files: The programs in which a function is smaller with it.
        functions: These functions.
        saved: The bytes by which these are smaller.
        net: The bytes by which all programs are smaller; negative if they are larger.
        share: ``saved`` as a share of all code.
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
    """Mines programs into a folder, and goes on where an earlier call ended.

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
        self.findings = Findings(self.folder / "findings")
        self._stop = threading.Event()
        self._units: dict[str, Path] = {}
        self._end = self._end_of_scans = math.inf

    def run(self, programs: Sequence[Program], jobs: int) -> None:
        """Scans programs, and reduces what is promising.

        Args:
            programs: The programs.
            jobs: How many compilers run at a time.

        Raises:
            KeyboardInterrupt: After Ctrl-C. Nothing that was started is left.
            OSError: If another process uses the folder, or it cannot be written.
        """
        self._end = time.monotonic() + self.settings.seconds
        self._end_of_scans = time.monotonic() + self.settings.seconds / 2
        with self._locked(), tempfile.TemporaryDirectory(prefix="compiler_gym-") as scratch:
            folder = Path(scratch)
            self._each(jobs, [partial(self._scan, each, folder) for each in programs])
            self.scanned.sort(key=lambda each: each.program)
            self._each(jobs, [partial(self._take, each, folder) for each in self._candidates()])

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

    @contextmanager
    def _locked(self) -> Iterator[None]:
        for name in ("programs", "candidates"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        try:
            with file_lock(self.folder / ".lock", wait=False):
                yield
        except BlockingIOError as error:
            raise OSError(
                f"expected a folder of its own, but another process uses {self.folder}; "
                "try another one with --output"
            ) from error

    def _each(self, jobs: int, work: Sequence[Callable[[], None]]) -> None:
        """Does some work in threads. At the end, or after Ctrl-C, nothing runs any more."""
        with ThreadPoolExecutor(jobs) as pool:
            running: set[Future[None]] = {pool.submit(self._owned, each) for each in work}
            try:
                while running:
                    done, running = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
                    for future in done:
                        future.result()
            finally:
                if running:
                    self._stop.set()
                for future in running:
                    future.cancel()
                while any(not future.done() for future in running):
                    kill_running_commands(self)
                    time.sleep(_POLL_SECONDS / 10)

    def _owned(self, work: Callable[[], None]) -> None:
        if not self._stop.is_set():
            with commands_of(self):
                work()

    def _scan(self, program: Program, scratch: Path) -> None:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        try:
            unit = program.write(self.datasets, folder)
            key = _digest(unit.read_bytes(), self.settings.digest.encode())
            path = self.folder / "programs" / f"{key}.json"
            if path.is_file():
                found = _scanned(json.loads(path.read_text(encoding="utf-8")))
            elif time.monotonic() >= self._end_of_scans:
                self.skipped += 1
                return
            else:
                before, effects = scan(unit, self.settings.decisions, folder, self.settings.tools)
                found = Scanned(program.name, key, before.text, (*effects,))
                if self._stop.is_set():  # The compilers have been killed.
                    return
                _write(path, _plain(found))
                self.report(
                    f"{program.name}: smaller functions with {plural(len(effects), 'decision')}"
                )
        except (BenchmarkInitError, ValueError) as error:
            self.failed[program.name] = str(error).partition("\n")[0]
            return
        self._units[key] = unit
        self.scanned.append(found)

    def _candidates(self) -> list[Candidate]:
        """Returns the functions to reduce: of each decision the one that gains most, and so on."""
        groups: dict[Decision, list[Candidate]] = defaultdict(list)
        for program in self.scanned:
            for effect in program.effects:
                groups[effect.decision] += [
                    Candidate(program, effect.decision, each)
                    for each in effect.savings
                    if each.saved >= self.settings.least and each.before <= _MAX_FUNCTION_BYTES
                ]
        rounds: list[tuple[int, Candidate]] = []
        for group in groups.values():
            group.sort(key=lambda each: (-each.saving.saved / each.saving.before, each.key))
            # A function may be in several programs: its copies say nothing new.
            names: dict[str, Candidate] = {}
            for each in group:
                names.setdefault(each.saving.function, each)
            rounds += enumerate([*names.values()][: self.settings.per_decision])
        return [each for _, each in sorted(rounds, key=lambda item: item[0])]

    def _take(self, candidate: Candidate, scratch: Path) -> None:
        path = self.folder / "candidates" / f"{candidate.key}.json"
        if path.is_file():
            outcome = Outcome(**json.loads(path.read_text(encoding="utf-8")))
        elif time.monotonic() >= self._end:
            return
        else:
            outcome = self._reduce(candidate, Path(tempfile.mkdtemp(dir=scratch)))
            if self._stop.is_set():
                return
            _write(path, vars(outcome))
            self.report(
                f"{candidate.decision.title}, {candidate.saving.function} of "
                f"{candidate.scanned.program}: {outcome.verdict} {outcome.name or outcome.why}"
            )
        self.verdicts[outcome.verdict] += 1
        if outcome.why:
            name = f"{candidate.saving.function}, {candidate.decision.title}"
            self.why_bogus[name] = outcome.why

    def _reduce(self, candidate: Candidate, folder: Path) -> Outcome:
        settings, decision = self.settings, candidate.decision
        reducer = Reducer(decision, settings.least, settings.tools, folder, settings.reduce_seconds)
        unit = self._units[candidate.scanned.key]
        reduced = reducer.reduce(unit, candidate.saving.function)
        if reduced is None:
            return Outcome("not alone")
        verdict = check(reduced.module, decision, folder, settings.tools)
        if verdict.bogus:
            return Outcome("bogus", why=verdict.bogus)
        saving = candidate.saving
        member = Member(candidate.scanned.program, saving.function, saving.saved)
        shape = shape_of(reduced.module.read_text())
        known = self.findings.count_known(decision, shape, member)
        if known is not None:
            return Outcome("known", known.name)
        before = measure(None, reduced.module, folder, settings.tools)
        after = measure(decision, reduced.module, folder, settings.tools)
        if before is None or after is None:
            return Outcome("not alone")
        finding = Finding(
            name=name_of(decision, shape),
            kind=decision.kind.value,
            text=decision.text,
            title=decision.title,
            before=before.all,
            after=after.all,
            lines=reduced.lines,
            is_complete=reduced.is_complete,
            shape=shape,
            checks={**verdict.checks},
            versions=versions_of(decision, reduced.module, folder, settings.versions),
            members=[member],
        )
        report = write_report(finding, reduced.module, folder, settings.tools)
        self.findings.add(finding, reduced.module, report, settings.tools)
        return Outcome("found", finding.name)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def _write(path: Path, value: Any) -> None:
    with atomic_file_write(path, fileobj=True, mode="w") as file:
        json.dump(value, file)


def _plain(scanned: Scanned) -> dict[str, Any]:
    effects = [
        {
            "kind": each.decision.kind.value,
            "text": each.decision.text,
            "net": each.net,
            "savings": [[one.function, one.before, one.after] for one in each.savings],
        }
        for each in scanned.effects
    ]
    facts = {"program": scanned.program, "key": scanned.key, "size": scanned.size}
    return {**facts, "effects": effects}


def _scanned(facts: dict[str, Any]) -> Scanned:
    effects = tuple(
        Effect(
            Decision(Kind(each["kind"]), each["text"]),
            each["net"],
            tuple(Saving(*one) for one in each["savings"]),
        )
        for each in facts["effects"]
    )
    return Scanned(facts["program"], facts["key"], facts["size"], effects)
