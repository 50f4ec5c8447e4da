"""The search for the fastest program that clang can make of a source."""

import json
import math
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from pathlib import Path

import numpy as np

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.inputs import Check
from compiler_gym.tuning.size.moves import Move
from compiler_gym.tuning.size.ranking import moves_of
from compiler_gym.tuning.size.stack import StackPromise
from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.tuning.speed import optimizer
from compiler_gym.tuning.speed.hot_parts import moves_of_calls, moves_of_loops, moves_of_profile
from compiler_gym.tuning.speed.profile import NO_PROFILE, Profile, collect_profile
from compiler_gym.tuning.speed.workload import Stopwatch, Workload, check_statistics
from compiler_gym.util.statistics import RuntimeComparison, compare_paired_runtimes

# The number of moves tried from the same place. There are fewer if their compilations would take
# more than this share of the time: what is compiled too late cannot be measured.
_WIDTH, _BATCH_SHARE = 8, 0.15
# The share of the time for the search. The rest is for the runs that verify its result.
_SEARCH_SHARE = 0.7
# Fewer pairs can hardly prove anything. More pairs prove only gains too small to matter.
_MIN_PAIRS, _MAX_PAIRS = 20, 100
# A faster program is claimed if the difference is less likely than this without a reason. Half of
# such differences are slowdowns, so one program in 20,000 without a gain is claimed to be faster.
_CLAIM_P_VALUE = 1e-4
# After Ctrl-C, the verification is limited to this time.
_PATIENCE_SECONDS = 10
# Shorter runs are repeated, so that the start of the program matters less.
_SAMPLE_SECONDS, _MAX_REPEATS = 0.02, 20
# Some options make a program run for ever. The limit is three times this factor of a run.
_LIMIT_FACTOR, _MIN_LIMIT_SECONDS = 4, 2
# A program that looks at least so much faster is tried again, together with others.
_PROMISING = 1.003
# The options that are tried before the hot loops and calls.
_FIRST_OPTIONS = 24


@dataclass(frozen=True)
class Contender:
    """A candidate program that can be run.

    Attributes:
        evaluation: Its object file.
        program: The program.
    """

    evaluation: Evaluation
    program: Path

    @property
    def change(self) -> Change:
        """The changes of the compilation."""
        return self.evaluation.change


@dataclass(frozen=True)
class Stage:
    """A part of a search.

    Attributes:
        name: The name of the part.
        evaluations: The number of evaluations at its end.
        seconds: The time at its end, in seconds since the start of the search.
        estimate: The estimated speedup over the baseline at its end: 1.1 is 1.1 times as fast. It
        is too high, because the luckiest candidate was chosen.
    """

    name: str
    evaluations: int
    seconds: float
    estimate: float


@dataclass(frozen=True)
class Wrong:
    """A result that does not work."""

    change: Change
    why: str


class SpeedOptimizer:
    """Searches for changes of a compilation that make the program faster.

    Args:
        evaluator: Runs clang, with a budget.
        workload: Links and runs the program.
        check: Checks an object file. None if the checks of the workload are enough.
        seed: Seeds the order in which programs run.
        with_experimental: Whether to use experimental options.
        target: The object file. Profiles that a result needs are beside it; None for no profile.
        with_profile: Whether a result may need a profile.
        watch: Called when the state of the search has changed.

    Attributes:
        baseline: The program of clang without a change.
        leading: The program that seems to be the fastest.
        best: The program that is proved to be faster than the baseline; otherwise the baseline.
        comparison: The result of the runs after the search; None without such runs.
        seconds: The times of these runs by pair, of the baseline and of the other program.
        run_seconds: The time of a run of the baseline.
        estimate: The estimated speedup of the leading program, which is too high.
        stages: The results of the parts of the search.
        wrong: The results that did not work.
        pairs: The number of pairs of runs made to verify the result, and their total.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        workload: Workload,
        check: Check | None = None,
        seed: int = 0,
        with_experimental: bool = False,
        target: Path | None = None,
        with_profile: bool = True,
        watch: Callable[["SpeedOptimizer"], None] = lambda _: None,
    ):
        self.evaluator = evaluator
        self.baseline: Contender
        self.leading: Contender
        self.best: Contender
        self.comparison: RuntimeComparison | None = None
        self.seconds: tuple[list[float], list[float]] = ([], [])
        self.run_seconds = 0.0
        self.estimate = 1.0
        self.stage = "clang"
        self.stages: list[Stage] = []
        self.wrong: list[Wrong] = []
        self.pairs = (0, 0)
        self._workload = workload
        self._check = check
        self._with_experimental = with_experimental
        self._target = target
        self._with_profile = with_profile
        self._watch = watch
        self._repeats = 1
        self._compile_seconds = 0.0
        self._rng = np.random.default_rng(seed)
        self._race = Stopwatch(self._seconds, self._rng, self._is_late)
        # Digests of object files that were slower than the fastest at that time.
        self._beaten: set[str] = set()
        self._verdicts: dict[str, str] = {}
        # Frames may grow: programs are inlined for speed.
        self._promise = StackPromise(evaluator, growth=None)
        evaluator.watch = lambda _: self._watch(self)

    def start(self) -> None:
        """Compiles the source without a change, and runs it.

        Raises:
            BenchmarkInitError: If the source does not compile.
            ValueError: If the object file is not ELF, does not link, or does not pass the check; or
                if there is too little time to prove anything.
            EnvironmentNotSupported: If SciPy is not installed.
        """
        check_statistics()
        begin = time.monotonic()
        contender = self._contender(self.evaluator.evaluate_source())
        # clang has compiled the source and its bitcode.
        self._compile_seconds = (time.monotonic() - begin) / 2
        self.baseline = self.leading = self.best = contender
        why = self._why_wrong(contender)
        if why:
            raise ValueError(f"What clang makes without any change does not work, either: {why}")
        begin = time.monotonic()
        self.run_seconds = min(self._workload.seconds(contender.program) for _ in range(3))
        self._workload.limit(max(_MIN_LIMIT_SECONDS, _LIMIT_FACTOR * (time.monotonic() - begin)))
        repeats = math.ceil(_SAMPLE_SECONDS / self.run_seconds)
        self._repeats = min(max(1, repeats), _MAX_REPEATS)
        self._check_time()
        self._watch(self)

    def run(self) -> None:
        """Searches until its share of the budget is used up, or nothing is left to try.

        Raises:
            KeyboardInterrupt: After Ctrl-C.
        """
        options = optimizer.moves(self._has_passes, self._with_experimental)
        profile = self._profile()
        profiled = moves_of_profile(profile) if self._with_profile else []
        while True:
            before = self.leading
            self._run("options", [*profiled, *options[:_FIRST_OPTIONS]])
            self._run("loops", moves_of_loops(profile))
            self._run("calls", moves_of_calls(profile))
            self._run("more options", options[_FIRST_OPTIONS:])
            self._run("callees", self._moves_of_callees())
            if self.leading is before or self._is_over():
                break

    def prove(self, is_hurried: bool = False) -> None:
        """Runs the leading program and the baseline in turns, and keeps it if it is really faster.

        Args:
            is_hurried: Whether a user waits for the result.

        Raises:
            KeyboardInterrupt: After Ctrl-C; the best is the baseline then.
        """
        if self.leading is self.baseline:
            return
        self.stage = "proof"
        left = min(
            self.evaluator.budget.seconds_left, _PATIENCE_SECONDS if is_hurried else math.inf
        )
        # The number of pairs is fixed now. Stopping when the numbers look good would prove nothing.
        wanted = left / (2 * self._repeats * self.run_seconds)
        pairs = round(min(max(wanted, _MIN_PAIRS), _MAX_PAIRS))

        def watch(done: int) -> None:
            self.pairs = (done, pairs)
            self._watch(self)

        stopwatch = Stopwatch(self._seconds_of_copy, self._rng)
        self.seconds = stopwatch.compare(self.baseline, self.leading, pairs, watch)
        if not self.seconds[0]:
            self.wrong.append(Wrong(self.leading.change, "it failed in one of many runs"))
            return
        self.comparison = compare_paired_runtimes(*self.seconds)
        if is_claimed(self.comparison):
            self.best = self.leading

    def _check_time(self) -> None:
        budget = self.evaluator.budget
        total = budget.passed + budget.seconds_left
        needed = 2 * _MIN_PAIRS * self._repeats * self.run_seconds / (1 - _SEARCH_SHARE)
        if needed > total:
            raise ValueError(
                f"A run takes {self.run_seconds:.3g} s. In {total:.3g} s nothing can be proved: "
                f"give it less to do, or a budget of {math.ceil(10 * needed)} s"
            )

    def _is_over(self) -> bool:
        """Returns true if the search should stop trying candidates."""
        return self.evaluator.budget.is_over or self._is_late()

    def _is_late(self) -> bool:
        """Returns true if the rest of the time is needed to verify the result."""
        budget = self.evaluator.budget
        total = budget.passed + budget.seconds_left
        return budget.passed > _SEARCH_SHARE * total

    @property
    def _width(self) -> int:
        """The number of moves to try at a time."""
        budget = self.evaluator.budget
        total = budget.passed + budget.seconds_left
        return int(min(max(1, _BATCH_SHARE * total / self._compile_seconds), _WIDTH))

    def _seconds(self, contender: Contender) -> float:
        return self._seconds_of(contender.program)

    def _seconds_of(self, program: Path) -> float:
        return sum(self._workload.seconds(program) for _ in range(self._repeats))

    def _seconds_of_copy(self, contender: Contender) -> float:
        return seconds_of_copy(contender.program, self._seconds_of)

    def _run(self, stage: str, moves: Sequence[Move]) -> None:
        """Runs a part of the search if there is time."""
        if self._is_over():
            return
        self.stage = stage
        budget = self.evaluator.budget
        used = budget.used
        try:
            self._climb(moves)
        finally:
            if budget.used > used:
                self.stages.append(Stage(stage, budget.used, budget.passed, self.estimate))

    def _climb(self, moves: Sequence[Move]) -> None:
        """Tries moves. Tries those that seem to help a second time, and together."""
        waiting, again = deque(moves), set[int]()
        while waiting and not self._is_over():
            batch = [waiting.popleft() for _ in range(min(self._width, len(waiting)))]
            promising, is_won = self._try(batch)
            new = [move for move in promising if id(move) not in again]
            again |= {id(move) for move in new}
            if len(new) > 1:
                waiting.appendleft(partial(_all_of, new))
                again.add(id(waiting[0]))
            if is_won:
                waiting.extend(new)

    def _try(self, moves: Sequence[Move]) -> tuple[list[Move], bool]:
        """Races the results of moves. Returns promising moves, and whether a move has won."""
        move_of = {move(self.leading.change): move for move in reversed(moves)}
        result = self._race.race(self.leading, self._contenders([*reversed(move_of)]))
        winner = result.winner
        promising = [
            move_of[each.program.change]
            for each in result.runners
            if each is not winner and each.speedup > _PROMISING
        ]
        beaten = [each.program for each in result.runners if each.speedup <= 1]
        if winner:
            beaten.append(self.leading)
            self.leading = winner.program
            self.estimate *= winner.speedup
        for each in beaten:
            self._beaten.add(each.evaluation.object.digest)
            if each is not self.baseline:
                self._discard(each)
        self._watch(self)
        return promising, winner is not None

    def _contenders(self, changes: Sequence[Change]) -> list[Contender]:
        """Returns the distinct programs that work and may be faster."""
        found: list[Contender] = []
        met = {self.leading.evaluation.object.digest, *self._beaten}
        begin, used = time.monotonic(), self.evaluator.budget.used
        evaluations = self.evaluator.evaluate(changes)
        if new := self.evaluator.budget.used - used:
            self._compile_seconds = (time.monotonic() - begin) / new
        for evaluation in evaluations:
            digest = evaluation.object.digest
            if digest in met:
                self.evaluator.discard(evaluation)
                continue
            if self._is_late():
                continue
            met.add(digest)
            try:
                contender = self._contender(evaluation)
                why = self._why_wrong(contender)
            except LinkError as error:
                why = str(error)
            if not why:
                found.append(contender)
        return found

    def _contender(self, evaluation: Evaluation) -> Contender:
        """Links an object file, unless that has been done."""
        # Names of equal length: the stack begins below them, and its position affects some
        # programs.
        folder = evaluation.path.with_name(f"program-{evaluation.object.digest[:16]}")
        program = folder / "program"
        if not program.exists():
            folder.mkdir(exist_ok=True)
            self._workload.link(evaluation.path, program)
        return Contender(evaluation, program)

    def _discard(self, contender: Contender) -> None:
        """Removes the files of a program that is no longer needed."""
        self.evaluator.discard(contender.evaluation)
        shutil.rmtree(contender.program.parent, ignore_errors=True)

    def _why_wrong(self, contender: Contender) -> str:
        evaluation = contender.evaluation
        digest = evaluation.object.digest
        if digest not in self._verdicts:
            broken = self._promise.broken_by(evaluation.change)
            why = f"stack: {broken[0].why}" if broken else ""
            why = why or (self._check(evaluation.path) if self._check else "")
            why = why or self._workload.check(contender.program)
            self._verdicts[digest] = why
            if why and evaluation.change != Change():
                self.wrong.append(Wrong(evaluation.change, why))
        return self._verdicts[digest]

    def _profile(self) -> Profile:
        """Returns what a run executes; nothing without a plugin or bitcode, or late."""
        compilation, unit = self.evaluator.compilation, self.evaluator.unit
        if not self._has_passes or unit is None or self._target is None or self._is_over():
            return NO_PROFILE
        self.stage = "profile"
        return collect_profile(compilation, unit, self._workload, self._target)

    @property
    def _has_passes(self) -> bool:
        return self.evaluator.compilation.plugin is not None

    def _moves_of_callees(self) -> list[Move]:
        if not self._has_passes or self.evaluator.unit is None or self._is_over():
            return []
        inlining = Inlining(self.evaluator, list_call_sites(self.evaluator))
        return [each.move for each in inlining.moves_of_callees(self.leading.change)]


def is_claimed(comparison: RuntimeComparison) -> bool:
    """Returns true if a comparison proves that the second program is faster."""
    return comparison.low > 1 and comparison.p_value < _CLAIM_P_VALUE


def seconds_of_copy(program: Path, seconds: Callable[[Path], float]) -> float:
    """Measures a new copy of a program.

    The place of a file in memory makes a program faster or slower as long as it stays there. With a
    new copy for each measurement that is noise, which repetitions reveal.

    Args:
        program: The program.
        seconds: Measures a program, in seconds.
    """
    # The names have the same length, as those of the originals.
    with tempfile.TemporaryDirectory(prefix="copy-", dir=program.parent) as folder:
        return seconds(Path(shutil.copy2(program, folder)))


def _all_of(moves: Sequence[Move], change: Change) -> Change:
    return reduce(lambda made, move: move(made), moves, change)


# The options to try, the most promising first.

_SHIPPED = Path(__file__).parent / "portfolio.json"


@cache
def parts() -> tuple[Change, ...]:
    """Returns changes of thresholds and of LLVM's choices for speed.

    None of them permits other results of arithmetic or other processors without the user's consent.
    """
    facts = json.loads(_SHIPPED.read_text(encoding="utf-8"))["parts"]
    return tuple(
        Change(tuple(each.get("options", ())), tuple(each.get("passes", ()))) for each in facts
    )


def moves(with_passes: bool, with_experimental: bool = False) -> list[Move]:
    """Returns moves, each of which adds a part to a change or removes one.

    Args:
        with_passes: Whether clang has the plugin, which parts with passes need.
        with_experimental: Whether to include experimental options.
    """
    return moves_of(parts(), with_passes, with_experimental)
