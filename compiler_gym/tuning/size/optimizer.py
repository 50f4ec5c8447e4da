"""The search for the smallest object file that clang makes of a source."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator
from compiler_gym.tuning.size.expectations import Expectations
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.memory import Memory, Recalled, Recipe, recall, recipe_of
from compiler_gym.tuning.size.memory_regions import MemoryUse
from compiler_gym.tuning.size.minimise import Part, minimise
from compiler_gym.tuning.size.moves import (
    Function,
    LocalMove,
    Move,
    adjusting,
    climb,
    climb_locally,
    frame_pointers,
    functions_of,
    moved,
    numbers_of,
    permitted,
    spared,
    unmark,
    with_options_of,
    without_sequence,
)
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.ranking import (
    Known,
    Ranking,
    experimental_options,
    function_adjustments,
    function_properties,
    shipped_portfolio,
    toggles,
)
from compiler_gym.tuning.size.safety import FRAME_POINTER, Kind
from compiler_gym.tuning.size.stack import Broken, StackPromise

if TYPE_CHECKING:
    from compiler_gym.tuning.size.inputs import Check

# How often decisions are taken back in a result that breaks the stack promise.
_MAX_REPAIRS = 4

# What clang does with functions that are to be small: of bitcode they need not be marked.
_MARKS = ("mark-for-size<Oz>",)

# Before the passes of clang, or with this in place of them.
_IN_PLACE_OF_CLANGS = ("skip-rest",)

# How many sets of options are tried first, and how often groups of local moves: as many as make ten
# evaluations with what comes of them.
_FIRST_OPTIONS = 2
_FIRST_STEPS = 7

# If so many different results are wrong, those that have more in common with them are not tried.
_MAX_WRONG = 8


Advice = Callable[[Path | None], Sequence[Sequence[str]]]
"""Takes the bitcode of a source, or None. Returns sequences of passes that may be good for it."""


@dataclass(frozen=True)
class Stage:
    """A part of a search.

    Attributes:
        name: What it is called.
        evaluations: How many there were at its end.
        seconds: How much time had passed at its end.
        size: The size at its end, checked if there is a check, in the unit of the objective.
        round: Its round, from 1 on; stages are repeated as long as something helps.
    """

    name: str
    evaluations: int
    seconds: float
    size: int
    round: int = 1


@dataclass(frozen=True)
class Wrong:
    """A result that a check did not pass; its size is in the unit of the objective."""

    change: Change
    size: int
    why: str


class Optimizer:
    """Searches for changes of a compilation that make the object file smaller.

    Args:
        evaluator: Runs clang, with a budget, and reads what the objective needs.
        objective: What is to be small.
        check: Whether a result is right; None to believe the compiler.
        advice: Sequences of passes that are tried before that, such as those of a policy.
        memory: The decisions for a former version of the source; None to begin without.
        is_unmarked: Whether the functions of the source are not marked to be made small.
        with_experimental: Whether to use experimental options.
        ranking: What changes are expected to be worth, which decides what is tried first; None for
            the order of the portfolio. It is used for bytes that are loaded and bytes of code
            at ``-Oz``, without advice.
        watch: Called when there is something new to say.

    Attributes:
        baseline: What clang makes without a change.
        best: The smallest result so far that passes the check. It is never larger than the former.
        leading: The smallest result so far, checked or not.
        stages: What came of each part of the search.
        wrong: What did not pass the check.
        curve: After which evaluation and how many seconds there was which smallest size.
        parts: The parts of the best change and their worth, after :meth:`minimise`.
        recalled: What the search began with from the memory; None for nothing.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        objective: Objective = Objective.ALL,
        check: "Check | None" = None,
        advice: Advice | None = None,
        memory: Memory | None = None,
        is_unmarked: bool = False,
        with_experimental: bool = False,
        ranking: Ranking | None = None,
        watch: Callable[["Optimizer"], None] = lambda _: None,
    ):
        self.evaluator = evaluator
        self.objective = objective
        self.baseline: Evaluation
        self.best: Evaluation
        self.leading: Evaluation
        self.stage = "clang"
        self.stages: list[Stage] = []
        self.wrong: list[Wrong] = []
        self.curve: list[tuple[int, float, int]] = []
        self.parts: list[Part] = []
        self.recalled: Recalled | None = None
        self._memory = memory
        self._start: Recipe | None = None
        self._is_past_portfolio = False
        self._check = check
        self._with_experimental = with_experimental
        self._advice = advice
        self._is_unmarked = is_unmarked
        self._ranking = ranking
        self._untried_options: tuple[Change, ...] = ()
        self._untried_adjustments: list[LocalMove] = []
        self.watch = watch
        self._seen: list[Evaluation] = []
        self._verdicts: dict[str, str] = {}
        self._promise = StackPromise(evaluator, evaluator.limits.max_stack_growth)
        self._broken: dict[Change, list[Broken]] = {}
        evaluator.watch = self._take

    def size(self, evaluation: Evaluation) -> int:
        """Returns what is to be small, in the unit of the objective."""
        return self._cost(evaluation)[0]

    def _cost(self, evaluation: Evaluation) -> tuple[int, int]:
        return self.objective.cost(evaluation, self.baseline)

    def start(self) -> None:
        """Compiles the source without a change.

        Raises:
            BenchmarkInitError: If the source does not compile.
            ValueError: If the object file is not ELF, or does not pass the check.
        """
        self.baseline = self.best = self.leading = self.evaluator.evaluate_source()
        self._note()
        self._end_if_enough()
        self.watch(self)
        why = self._why_wrong(self.best)
        if why:
            raise ValueError(f"What clang makes without any change fails the check, too: {why}")

    def run(self) -> None:
        """Searches until the budget is used up, or nothing is left to try.

        Raises:
            KeyboardInterrupt: After Ctrl-C. What is best by then has been checked.
        """
        self._run("memory", self._recall)
        # Where the memory is no gain any more, the search begins as without one.
        if self.recalled is not None and self.best is not self.baseline:
            self._is_past_portfolio = self.recalled.is_past_portfolio
        if not self._is_past_portfolio:
            self._run("marks", self._mark)
            self._run("policy", self._follow_advice)
            self._run("portfolio", self._try_ranked if self._is_ranked else self._try_portfolio)
        inlining, locally = self._inlining, self._climb_locally
        while True:
            before = self.best
            self._run("unmark", self._unmark)
            self._run("callees", lambda: locally(inlining.moves_of_callees(self.best.change)))
            self._run("functions", self._adjust_functions)
            self._run("options", lambda: self._climb(self._toggles()))
            self._run("calls", lambda: locally(inlining.moves_of_calls(self.best.change)))
            if self.best is before or self.evaluator.budget.is_over:
                break

    def minimise(self, with_costs: bool = True) -> None:
        """Leaves out of the best what costs nothing to leave out, in the first step after it.

        Args:
            with_costs: Whether to measure what each part of the rest is worth.

        Raises:
            KeyboardInterrupt: After Ctrl-C. The best is as it was.
        """
        self.stage = "minimise"
        self.watch(self)
        before = self.best
        self.best, self.parts = minimise(
            *(self.evaluator, self.best, self._cost, self._sizes),
            lambda it: not self._why_wrong(it),
            with_costs,
        )
        self.leading = self.best
        self.evaluator.restore(self.best)
        if self.best is not before:
            self._note()
            self._end_stage()

    def remember(self) -> None:
        """Keeps the decisions of the best for the next version of the source."""
        unit, used = self.evaluator.unit, self.evaluator.budget.used
        if self._memory is not None and unit is not None and self._directs_clang and used:
            functions, sites = self._all_functions, list_call_sites(self.evaluator)
            recipe = recipe_of(self.best.change, functions, sites, self._is_past_portfolio)
            self._memory.keep(unit, self._start, recipe, self.size(self.best))

    def _run(self, stage: str, search: Callable[[], object]) -> None:
        """Runs a part of the search if there is time, and ends with a result that is right."""
        if self.evaluator.budget.is_over:
            return
        self.stage = stage
        used = self.evaluator.budget.used
        try:
            search()
        finally:
            self._settle()
            if self.evaluator.budget.used > used:
                self._end_stage()

    def _end_stage(self) -> None:
        budget = self.evaluator.budget
        size = self.size(self.best)
        number = 1 + sum(each.name == self.stage for each in self.stages)
        self.stages.append(Stage(self.stage, budget.used, budget.passed, size, number))

    def _take(self, evaluation: Evaluation | None) -> None:
        """Remembers what came of a change."""
        if evaluation is not None:
            if self._cost(evaluation) < self._cost(self.best):
                self._seen.append(evaluation)
            else:  # It can never be the best.
                self.evaluator.discard(evaluation)
            if self._cost(evaluation) < self._cost(self.leading):
                self.leading = evaluation
                self._note()
                self._end_if_enough()
        self.watch(self)

    def _end_if_enough(self) -> None:
        """Ends the search as soon as a program fits that did not, or other regions are too full."""
        before, found = self.baseline.linked, self.leading.linked
        if isinstance(before, MemoryUse) and isinstance(found, MemoryUse):
            self.evaluator.budget.is_enough = found.is_enough and not before.fits

    def _note(self) -> None:
        budget = self.evaluator.budget
        self.curve.append((budget.used, budget.passed, self.size(self.leading)))

    def _recall(self) -> None:
        unit = self.evaluator.unit
        if self._memory is None or unit is None or not self._directs_clang:
            return
        self._start = self._memory.start(unit)
        if self._start is not None:
            functions, sites = self._all_functions, list_call_sites(self.evaluator)
            self.recalled = recall(self._start, functions, sites)
            self.evaluator.evaluate([self._without_experimental(self.recalled.change)])

    def _without_experimental(self, change: Change) -> Change:
        """Returns a change without options that are experimental now, unless these are wanted."""
        dropped = [] if self._with_experimental else experimental_options(change)
        kept = (option for option in change.options if option not in dropped)
        return replace(change, options=tuple(kept))

    def _mark(self) -> None:
        """Bitcode may have been made for speed."""
        if self._is_unmarked and self._has_passes:
            self.evaluator.evaluate([Change(passes=_MARKS)])

    def _follow_advice(self) -> None:
        if self._advice is not None and self._has_passes:
            base = self.best.change
            sequences = self._advice(self.evaluator.unit)
            self.evaluator.evaluate(
                [
                    replace(base, sequence=(*sequence, *end))
                    for sequence in sequences
                    for end in ((), _IN_PLACE_OF_CLANGS)
                ]
            )

    def _try_portfolio(self) -> None:
        passes, sequence = self.best.change.passes, self.best.change.sequence
        self.evaluator.evaluate(
            [
                replace(self._framed(each.change).plus(*passes), sequence=sequence)
                for each in self._known()
            ]
        )
        self._is_past_portfolio = not self.evaluator.budget.is_over

    @property
    def _is_ranked(self) -> bool:
        """True if the model of what changes are worth is about this search."""
        return (
            self._ranking is not None
            and self.objective in (Objective.ALL, Objective.TEXT)
            and self.evaluator.compilation.level == "-Oz"
            and self._directs_clang
            and self.best is self.baseline
        )

    def _try_ranked(self) -> None:
        """Tries what is most promising: sets of options, then decisions about single functions."""
        assert self._ranking is not None and self.evaluator.unit is not None
        before = self.size(self.baseline)
        expectations = Expectations(
            *(self._ranking, self.baseline, function_properties(self.evaluator.unit)),
            *(self._inlining, self._functions, self._adjustments),
        )
        sets = expectations.option_sets(self.evaluator.limits, self._with_experimental)
        chosen: list[LocalMove] | None = None
        found: list[Evaluation] = []
        alone: Mapping[str, int] | None = None
        for _ in range(_FIRST_OPTIONS if self._has_options else 1):
            if self.evaluator.budget.is_over:
                break  # LLVM's remarks take a run of clang.
            change = sets.next() if self._has_options else NO_CHANGE
            if chosen is None:
                chosen, pins, alone = self._choose(expectations, change)
            else:
                pins = self._inlining.pins(moved(change, chosen))
            # Functions are judged one by one, so none may change what is inlined into others.
            whole = moved(self._framed(change.decide(pins)), chosen)
            for each in self.evaluator.evaluate([whole]):
                found.append(each)
                sets.learn(change, math.log(max(self.size(each), 1) / max(before, 1)))
        self._untried_options = tuple(sets.left) if self._has_options else ()
        # Where even the better one is larger than the baseline, what harms is taken back first.
        start = min(found, key=self._cost, default=self.leading)
        moves = expectations.local_moves(alone or self._sizes(self.baseline), self._sizes(start))
        untried = self._climb_locally(moves, 1, _FIRST_STEPS, 1, start=start)
        self._untried_adjustments = [each for each in untried if each.adjustments]

    def _choose(
        self, expectations: Expectations, change: Change
    ) -> tuple[list[LocalMove], dict[int, bool], Mapping[str, int] | None]:
        """Returns decisions about calls and functions, and LLVM's own about the other calls.

        LLVM's remarks take a run of clang without these decisions, and one with them. Those that
        make functions larger there are left out. The third result is the sizes of functions in the
        first of these runs; None without it.

        Args:
            expectations: The expectations about the source.
            change: The options.
        """
        chosen = permitted(expectations.decide(change), self._all_functions)
        whole = moved(change, chosen)
        pins = self._inlining.pins(whole)
        before, after = map(self._sizes_with, (change, whole))
        if before is not None and after is not None:
            chosen = permitted(expectations.keep_helpful(before, after), self._all_functions)
            if moved(change, chosen).calls != whole.calls:
                pins = self._inlining.pins(change)
        return chosen, pins, before

    def _sizes_with(self, change: Change) -> Mapping[str, int] | None:
        """Returns the sizes of functions in the run of clang for LLVM's remarks; None without it.

        The run is no evaluation: its object file is neither linked nor checked nor kept.
        """
        made = self._inlining.made(change)
        if made is None:
            return None
        return self.objective.with_unwinding(made, self.baseline.object)

    def _framed(self, change: Change) -> Change:
        """Returns a change with frame pointers in functions whose unwinding takes many bytes."""
        is_loaded = self.objective is Objective.ALL or self.objective.is_linked
        if not is_loaded or not self._directs_clang or FRAME_POINTER not in self._adjustments:
            return change
        return change.adjust(frame_pointers(self.baseline.object.unwinding, self._functions))

    @cached_property
    def _all_functions(self) -> list[Function]:
        return functions_of(self.evaluator) if self._directs_clang else []

    @cached_property
    def _functions(self) -> dict[str, int]:
        """The numbers of the functions that may be adjusted, by name."""
        return numbers_of(each for each in self._all_functions if not each.is_excluded)

    @property
    def _adjustments(self) -> list[str]:
        texts = function_adjustments(self.evaluator.compilation.options)
        return [*filter(self.evaluator.limits.permits, texts)]

    def _known(self) -> list[Known]:
        if not self._has_options:
            return []
        known = shipped_portfolio(self._with_experimental)
        return [each for each in known if self._has_passes or not each.change.passes]

    @property
    def _has_options(self) -> bool:
        return Kind.OPTIONS not in self.evaluator.limits.without

    @property
    def _has_passes(self) -> bool:
        return self.evaluator.compilation.plugin is not None

    @property
    def _directs_clang(self) -> bool:
        """True if calls and functions have numbers, which are those of the bitcode."""
        return self._has_passes and self.evaluator.unit is not None

    @cached_property
    def _inlining(self) -> Inlining:
        sites = []
        if self._directs_clang and Kind.CALLS not in self.evaluator.limits.without:
            sites = list_call_sites(self.evaluator)
        return Inlining(self.evaluator, sites)

    def _toggles(self) -> list[Move]:
        moves = toggles(self._has_passes, self._with_experimental) if self._has_options else []
        options = [partial(with_options_of, each) for each in self._untried_options]
        self._untried_options = ()
        if self.best.change.sequence:
            moves.append(without_sequence)
        return [*options, *moves]

    def _adjust_functions(self) -> None:
        """Adjusts functions, at first as the model expects it."""
        present = self.leading.object.functions.keys() & self._functions.keys()
        functions = {name: each for name, each in self._functions.items() if name in present}
        moves = self._untried_adjustments or adjusting(functions, self._adjustments)
        self._untried_adjustments = []
        self._climb_locally(moves)

    def _unmark(self) -> None:
        """The mark that -Oz gives to functions is about bytes."""
        is_marked = self.evaluator.compilation.level == "-Oz"
        if self.objective is Objective.INSTRUCTIONS and is_marked and self._directs_clang:
            unmark(self.leading, self._functions, self.evaluator.evaluate, self._sizes)

    def _sizes(self, evaluation: Evaluation) -> Mapping[str, int]:
        return self.objective.with_unwinding(evaluation.object, self.baseline.object)

    def _climb(self, moves: Sequence[Move]) -> None:
        climb(self.leading, moves, self.evaluator.evaluate, self._cost)

    def _climb_locally(
        self, moves: Sequence[LocalMove], *limits: int, start: Evaluation | None = None
    ) -> list[LocalMove]:
        """Returns the moves that were not tried. Begins with the smallest result by default."""
        evaluate, start = self.evaluator.evaluate, start or self.leading
        moves = permitted(moves, self._all_functions)
        return climb_locally(start, moves, evaluate, self._cost, self._sizes, *limits)[1]

    def _settle(self) -> None:
        """Makes the smallest result that is right the best."""
        former, wrong = self.best, 0
        self._repair()
        for each in sorted(self._seen, key=self._cost):
            known = each.object.digest in self._verdicts or bool(self._broken.get(each.change))
            why = self._why_wrong(each)
            if not why:
                self.best = each
                break
            if not known:
                self.wrong.append(Wrong(each.change, self.size(each), why))
                wrong += 1
            if wrong == _MAX_WRONG:
                break
        for each in (former, *self._seen):
            if each is not self.best and each is not self.baseline:
                self.evaluator.discard(each)
        self._seen.clear()
        self.leading = self.best
        self._end_if_enough()

    def _repair(self) -> None:
        """Takes decisions back where they break the stack promise in the smallest result.

        The other results between the smallest one and the repaired one are dropped, as they most
        likely break it, too.
        """
        smallest = min(self._seen, key=self._cost, default=None)
        each = smallest
        for _ in range(_MAX_REPAIRS):
            broken = self._broken_by(each.change) if each else []
            if each is None or not broken:
                break
            change = self._repaired(each.change, {name for it in broken for name in it.functions})
            with self.evaluator.outside_budget(self.evaluator.budget.after(1, 1)):
                each = next(iter(self.evaluator.evaluate([change])), None)
        if smallest is not None and self._broken_by(smallest.change):
            self.wrong.append(
                Wrong(smallest.change, self.size(smallest), self._why_wrong(smallest))
            )
        if smallest is not None and each is not None and each is not smallest:
            least = self._cost(each)
            dropped = [it for it in self._seen if self._cost(it) < least and it is not smallest]
            for it in dropped:
                self.evaluator.discard(it)
            self._seen = [it for it in self._seen if it not in dropped]
            if each is not self.baseline and self._cost(each) < self._cost(self.best):
                self._seen.append(each)

    def _repaired(self, change: Change, names: set[str]) -> Change:
        """Returns a change without its decisions about functions, or else without its options."""
        numbers = {each.index for each in self._all_functions if each.name in names}
        rest = spared(change, numbers, self._inlining.calls_of(names))
        return rest if rest != change else Change(calls=rest.calls, functions=rest.functions)

    def _broken_by(self, change: Change) -> list[Broken]:
        if change not in self._broken:
            self._broken[change] = self._promise.broken_by(change)
        return self._broken[change]

    def _why_wrong(self, evaluation: Evaluation) -> str:
        if broken := self._broken_by(evaluation.change):
            return f"stack: {broken[0].why}"
        if self._check is None:
            return ""
        digest = evaluation.object.digest
        if digest not in self._verdicts:
            self.evaluator.restore(evaluation)
            self._verdicts[digest] = self._check(evaluation.path)
        return self._verdicts[digest]
