"""Leaves out of a change what costs nothing to leave out, and measures the rest.

Parts are left out one at a time first. Those that make nothing larger go together, and parts of
several pieces, such as decisions about calls, are then split.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, adjustment
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.moves import list_functions
from compiler_gym.util.shell_format import plural

# To leave parts out, and as many to measure what is left.
_MAX_EVALUATIONS = 30
_LEAST_MEASURED = 8
_MAX_REPEATS = 2

ENDS = (0.75, 1.0)
"""The shares of the time at which a search and its minimisation have to end."""

Piece = TypeVar("Piece")
Cost = Callable[[Evaluation], tuple[int, int]]
Sizes = Callable[[Evaluation], Mapping[str, int]]


@dataclass(frozen=True)
class Part:
    """A part of a change.

    Attributes:
        name: Its name for people.
        cost: What the result grows by without it, in the unit of the objective; None if that was
            not measured.
    """

    name: str
    cost: int | None


def minimise(
    evaluator: Evaluator,
    best: Evaluation,
    cost: Cost,
    sizes: Sizes,
    is_right: Callable[[Evaluation], bool],
    with_costs: bool = True,
) -> tuple[Evaluation, list[Part]]:
    """Leaves out of a result the parts of its change that cost nothing to leave out.

    To judge the parts takes as many evaluations as the search had, but at most 30. To find out
    which can go together takes at most as many again, or 8. To measure the parts that are left
    takes half as many, but at least 8. If some of these turn out to cost nothing, they are left
    out, and the rest is measured again, at most twice. These evaluations do not count as those of
    the search. All of it ends with the time for the first step after the search. If there is none
    left, nothing is left out or measured.

    Args:
        evaluator: The evaluator of the search.
        best: The result of the search.
        cost: What is to be small.
        sizes: What each function has of that, by name.
        is_right: Whether another result may replace it.
        with_costs: Whether to measure the parts that are left.

    Returns:
        A result with fewer parts that is not larger, or the same one; and its parts, those that
        cost most to leave out first, or none if they are not measured.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
    """
    used = evaluator.budget.used
    limit = min(_MAX_EVALUATIONS, used)
    functions = list_functions(evaluator) if best.change.functions else {}
    search = _Minimiser(evaluator, limit, cost, sizes, is_right, functions)
    while (small := search.drop_free(best)) is not best:
        best = small  # Without one part, others may have become free.
    if not with_costs:
        return best, []
    of_table = min(_MAX_EVALUATIONS, max(_LEAST_MEASURED, used // 2))
    measured = search.measure(best, of_table)
    for _ in range(_MAX_REPEATS):
        small = search.drop(best, [each.change for each in measured if each.is_free])
        if small is best:
            break
        best, measured = small, search.measure(small, of_table)
    return best, [each.part for each in measured]


def parts_of(change: Change) -> dict[str, Change]:
    """Returns the parts of a change by name, those that are worth most first, as a rule."""
    parts = {}
    if change.calls:
        parts[f"inlining of {plural(len(change.calls), 'call')}"] = Change(calls=change.calls)
    if change.sequence:
        title = f"{plural(len(change.sequence), 'pass', 'passes')} of the policy"
        parts[title] = Change(sequence=change.sequence)
    options = defaultdict(list)
    for option in change.options:
        options[option.partition("=")[0]].append(option)
    for name, each in options.items():
        title = each[0] if len(each) == 1 else f"{name}, {len(each)} times"
        parts[title] = Change(options=tuple(each))
    parts |= {each: Change(passes=(each,)) for each in change.passes}
    functions = defaultdict(list)
    for index, names in change.functions:
        for name in names:
            functions[name].append((index, (name,)))
    for name, adjusted in functions.items():
        title = f"{adjustment(name)} in {plural(len(adjusted), 'function')}"
        parts[title] = Change(functions=tuple(adjusted))
    return parts


def without(change: Change, parts: Iterable[Change]) -> Change:
    """Returns a change without some of its parts."""
    for part in parts:
        dropped = {(index, name) for index, names in part.functions for name in names}
        functions = (
            (index, tuple(name for name in names if (index, name) not in dropped))
            for index, names in change.functions
        )
        change = Change(
            options=_minus(change.options, part.options),
            passes=_minus(change.passes, part.passes),
            calls=_minus(change.calls, part.calls),
            functions=tuple((index, names) for index, names in functions if names),
            sequence=() if part.sequence else change.sequence,
        )
    return change


@dataclass(frozen=True)
class _Measured:
    """A part of a result.

    Attributes:
        part: Its name and its cost.
        change: The part itself.
        is_free: Whether the result is no larger without it.
    """

    part: Part
    change: Change
    is_free: bool


class _Minimiser:
    """Leaves parts out, and measures the rest; see :func:`minimise`.

    Args:
        limit: The evaluations to judge parts, and as many to leave them out, but at least 8.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        limit: int,
        cost: Cost,
        sizes: Sizes,
        is_right: Callable[[Evaluation], bool],
        functions: Mapping[str, int],
    ):
        self._evaluator = evaluator
        # Rounds share these.
        self._judging = evaluator.budget.after(1, limit)
        self._dropping = evaluator.budget.after(1, max(limit, _LEAST_MEASURED))
        self._cost = cost
        self._sizes = sizes
        self._functions = functions
        self._is_right = is_right
        self._wrong: set[Change] = set()

    def drop_free(self, best: Evaluation) -> Evaluation:
        """Returns the result without the parts that cost nothing, as far as the budget goes."""
        with self._within(self._judging):
            return self._drop_free(best)

    def _drop_free(self, best: Evaluation) -> Evaluation:
        waiting = [*parts_of(best.change).values()]
        while waiting and not self._judging.is_over:
            found = self._without_each(best, waiting)
            free, split = [], []
            for part, each in zip(waiting, found, strict=True):
                if each is not None and self._cost(each) <= self._cost(best):
                    free.append(part)
                else:
                    split += self._split(part, best, each)
            best, waiting = self.drop(best, free), split
        return best

    def _split(self, part: Change, best: Evaluation, found: Evaluation | None) -> list[Change]:
        """Returns what may be left out of a part that is needed, going by ``found`` without it."""
        if not part.functions or found is None:
            return _halves(part)
        before, after = self._sizes(best), self._sizes(found)
        grown = {
            index
            for name, index in self._functions.items()
            if after.get(name, 0) > before.get(name, 0)
        }
        rest = tuple(each for each in part.functions if each[0] not in grown)
        if rest == part.functions:
            return _halves(part)
        return [Change(functions=rest)] if rest else []

    def measure(self, best: Evaluation, evaluations: int) -> list[_Measured]:
        """Returns the parts of a result, each with what it saves."""
        parts = parts_of(best.change)
        with self._evaluator.outside_budget(self._evaluator.budget.after(1, evaluations)):
            found = self._without_each(best, [*parts.values()])
        measured = [
            self._measured(name, change, best, each)
            for (name, change), each in zip(parts.items(), found, strict=True)
        ]
        return sorted(measured, key=lambda each: -(each.part.cost or 0))

    def _measured(
        self, name: str, change: Change, best: Evaluation, found: Evaluation | None
    ) -> _Measured:
        if found is None:
            return _Measured(Part(name, None), change, is_free=False)
        cost, of_best = self._cost(found), self._cost(best)
        return _Measured(Part(name, cost[0] - of_best[0]), change, cost <= of_best)

    def _without_each(self, best: Evaluation, parts: Sequence[Change]) -> list[Evaluation | None]:
        changes = [without(best.change, [part]) for part in parts]
        found = {each.change: each for each in self._evaluator.evaluate(changes)}
        return [found.get(change) for change in changes]

    def drop(self, best: Evaluation, parts: Sequence[Change]) -> Evaluation:
        """Leaves out all parts, or as many as can go together."""
        with self._within(self._dropping):
            return self._drop(best, parts)

    @contextmanager
    def _within(self, budget: Budget) -> Iterator[None]:
        """Uses a budget. If its time ends, others may find other results."""
        outer = self._evaluator.budget
        with self._evaluator.outside_budget(budget):
            yield
        outer.is_cut |= budget.is_cut

    def _drop(self, best: Evaluation, parts: Sequence[Change]) -> Evaluation:
        if not parts:
            return best
        for each in self._evaluator.evaluate([without(best.change, parts)]):
            if self._cost(each) <= self._cost(best) and self._passes(each):
                return each
        if len(parts) == 1:
            return best
        middle = len(parts) // 2
        return self._drop(self._drop(best, parts[:middle]), parts[middle:])

    def _passes(self, found: Evaluation) -> bool:
        """Returns whether a result may replace the best. Checks are slow: none runs twice."""
        if found.change not in self._wrong and not self._is_right(found):
            self._wrong.add(found.change)
        return found.change not in self._wrong


def _halves(part: Change) -> list[Change]:
    """Returns the two halves of a part; nothing if it has one piece. A sequence is one."""
    first, second = (
        Change(options=options, calls=calls, functions=functions)
        for options, calls, functions in zip(
            _halved(part.options), _halved(part.calls), _halved(part.functions), strict=True
        )
    )
    return [first, second] if first != NO_CHANGE else []


def _halved(words: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    middle = len(words) // 2
    return words[:middle], words[middle:]


def _minus(words: tuple[Piece, ...], dropped: tuple[Piece, ...]) -> tuple[Piece, ...]:
    left_out = {*dropped}
    return tuple(each for each in words if each not in left_out)
