"""Moves of a search: inlining decisions, passes left out of functions, and their choice."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator

Move = Callable[[Change], Change]
"""Makes another change of one."""

# How many moves are tried from the same place. Not the number of jobs, which must not matter.
_WIDTH = 8


def climb(
    start: Evaluation,
    moves: Sequence[Move],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    cost: Callable[[Evaluation], tuple[int, int]],
) -> Evaluation:
    """Tries moves, and keeps those that make the result smaller.

    Moves that help, each alone, often do so together.

    Args:
        start: Where to begin.
        moves: The moves, the most promising first.
        evaluate: Evaluates changes, as far as the budget goes.
        cost: What is to be small.

    Returns:
        The smallest result.
    """
    best, waiting = start, deque(moves)
    while waiting:
        batch = [waiting.popleft() for _ in range(min(_WIDTH, len(waiting)))]
        changes = [move(best.change) for move in batch]
        found = {each.change: each for each in evaluate(changes)}
        steps = [
            (found[change], move)
            for change, move in zip(changes, batch, strict=True)
            if change in found and cost(found[change]) < cost(best)
        ]
        if not steps:
            continue
        steps.sort(key=lambda step: cost(step[0]))
        best, (first, _) = _joined(best, steps, evaluate, cost), steps[0]
        if best is first:
            waiting.extend(move for _, move in steps[1:])
    return best


def _joined(
    base: Evaluation,
    steps: Sequence[tuple[Evaluation, Move]],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    cost: Callable[[Evaluation], tuple[int, int]],
) -> Evaluation:
    """Returns the best of the results of moves and that of all these moves, the best first."""
    best = steps[0][0]
    if len(steps) > 1:
        together = reduce(lambda change, step: step[1](change), steps, base.change)
        best = min([best, *evaluate([together])], key=cost)
    return best


# Which calls to inline: what LLVM decides by itself, and what can be decided otherwise.

# A decision in the output of clang. The cost is a number, "always" or "never".
_REMARK = re.compile(r"'([^']+)' (not )?inlined into '([^']+)'.*?cost=(-?\w+)")

# LLVM's bonus for inlining the only call of a local function, which then goes away. It is too large
# for an estimate of bytes.
_ONLY_CALL = -15000
_UNKNOWN_COST = 50


@dataclass(frozen=True)
class CallSite:
    """A call that could be inlined.

    Attributes:
        index: The number of the call in the module.
        caller: The calling function.
        callee: The called function.
        local: True if the callee cannot be called from other modules.
        size: The number of instructions of the callee before any pass.
    """

    index: int
    caller: str
    callee: str
    local: bool
    size: int


@dataclass
class _Decided:
    """Counts of inlined and kept calls, and the sum of the costs that LLVM reported."""

    inlined: int = 0
    kept: int = 0
    cost: int = 0


class Inlining:
    """Moves of a search that change decisions about calls.

    Args:
        evaluator: Runs clang on the bitcode of the source.
        sites: The calls of the source.
    """

    def __init__(self, evaluator: Evaluator, sites: Sequence[CallSite]):
        self._evaluator = evaluator
        self._sites = sites

    def moves_of_callees(self, change: Change) -> list[Move]:
        """Returns moves that inline all calls of a function or none, the most promising first."""
        decided = self._decided(change, lambda _, callee: callee)
        groups: dict[str, list[int]] = defaultdict(list)
        for site in self._sites:
            groups[site.callee].append(site.index)
        return _moves((sites, decided.get(callee)) for callee, sites in groups.items())

    def moves_of_calls(self, change: Change) -> list[Move]:
        """Returns moves that decide about one of several calls, the most promising first."""
        decided = self._decided(change, lambda caller, callee: (caller, callee))
        counts = Counter(site.callee for site in self._sites)
        single = (site for site in self._sites if counts[site.callee] > 1)
        return _moves(([site.index], decided.get((site.caller, site.callee))) for site in single)

    def _decided(self, change: Change, key: Callable[[str, str], object]) -> dict[object, _Decided]:
        """Returns LLVM's decisions under a change, by caller and callee."""
        decided: dict[object, _Decided] = defaultdict(_Decided)
        if not self._sites:
            return decided
        for callee, is_kept, caller, cost in _REMARK.findall(self._evaluator.remarks(change)):
            each = decided[key(caller, callee)]
            each.kept += bool(is_kept)
            each.inlined += not is_kept
            each.cost += _cost(cost)
        return decided


def _cost(text: str) -> int:
    try:
        cost = int(text)
    except ValueError:
        return _UNKNOWN_COST
    return cost - _ONLY_CALL if cost < _ONLY_CALL / 2 else cost


def _moves(groups: Iterable[tuple[list[int], _Decided | None]]) -> list[Move]:
    """Returns moves to the opposite decision, or to both if the calls of a group differ.

    For calls without a remark of LLVM, both come last.
    """
    moves: list[tuple[int, Move]] = []
    for sites, decided in groups:
        cost = decided.cost if decided else _UNKNOWN_COST
        if decided is None or decided.kept:
            moves.append((cost, partial(decide, sites, True)))
        if decided is None or decided.inlined:
            moves.append((-cost if decided else cost, partial(decide, sites, False)))
    moves.sort(key=lambda move: move[0])
    return [move for _, move in moves]


def decide(sites: Iterable[int], inline: bool, change: Change) -> Change:
    """Returns a change with the same decision about some calls."""
    return change.decide(dict.fromkeys(sites, inline))


def list_call_sites(evaluator: Evaluator) -> list[CallSite]:
    """Returns the calls of a compilation that can be decided."""
    return [CallSite(**each) for each in evaluator.facts("list-call-sites")]


# Adjusts single functions: each evaluation tries one adjustment in every function at once.
#
# After inlining, what LLVM does to a function has next to nothing to do with others, so that each
# keeps what was best for it.


@dataclass(frozen=True)
class Function:
    """A function of a source.

    Attributes:
        index: Its number in the module.
        name: Its name.
        content: A digest of its unoptimised code, in which names of values do not matter.
    """

    index: int
    name: str
    content: str


def functions_of(evaluator: Evaluator) -> list[Function]:
    """Returns the functions of a compilation."""
    return [Function(**each) for each in evaluator.facts("list-functions")]


def list_functions(evaluator: Evaluator) -> dict[str, int]:
    """Returns the numbers of the functions of a compilation, by name."""
    return {each.name: each.index for each in functions_of(evaluator)}


def adjust_functions(
    start: Evaluation,
    functions: Mapping[str, int],
    adjustments: Sequence[str],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    cost: Callable[[Evaluation], tuple[int, int]],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> Evaluation:
    """Gives each function the adjustments with which it is smallest.

    Each adjustment is tried alone in all functions, and taken away from those that have it. Then
    each function has its best, its best two, and all that helped alone.

    Args:
        start: Where to begin.
        functions: The numbers of the functions by name.
        adjustments: The adjustments.
        evaluate: Evaluates changes, as far as the budget goes.
        cost: What is to be small.
        sizes: What each function has of that, by name.

    Returns:
        The smallest result.
    """
    before = sizes(start)
    present = {name: functions[name] for name in before if name in functions}
    changes = {
        start.change.toggle(dict.fromkeys(present.values(), (text,))): text for text in adjustments
    }
    found = evaluate([*changes]) if present else []
    after = {changes[each.change]: sizes(each) for each in found}
    helpful: dict[str, list[str]] = {}
    for name in present:
        left = {text: each.get(name, before[name]) for text, each in after.items()}
        better = [text for text in left if left[text] < before[name]]
        # The best last, since it replaces what sets the same option.
        helpful[name] = sorted(better, key=lambda text: -left[text])
    choices = [
        {name: texts[-count:] for name, texts in helpful.items() if texts}
        for count in (1, 2, len(adjustments))
    ]
    together = _best_of(choices, start.change, present, evaluate, sizes)
    return min([start, *found, *together], key=cost)


def _best_of(
    choices: Sequence[Mapping[str, Sequence[str]]],
    change: Change,
    functions: Mapping[str, int],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> list[Evaluation]:
    """Evaluates choices of adjustments by function, and the best of them for each function."""

    def changed(choice: Mapping[str, Sequence[str]]) -> Change:
        return change.toggle({functions[name]: texts for name, texts in choice.items()})

    by_change = {changed(choice): choice for choice in choices if choice}
    found = evaluate([*by_change])
    tried = [(by_change[each.change], sizes(each)) for each in found]
    best = {
        name: min(tried, key=lambda it: it[1].get(name, 0))[0][name] for name in choices[0] if tried
    }
    final = changed(best)
    return found if not best or final in by_change else [*found, *evaluate([final])]


# Takes the mark of -Oz off functions that have fewer instructions without it.
#
# With it, the code generator prefers instructions that are shorter, even if they are more: ``push``
# and ``pop`` of a constant in place of ``mov``.

# An option of LLVM: of all functions, and of one.
_ALL = "-force-remove-attribute=minsize"
_ONE = "-force-remove-attribute={}:minsize"


def unmark(
    start: Evaluation,
    functions: Collection[str],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> None:
    """Tries to take the mark off all functions, and then off those alone that get smaller.

    Args:
        start: Where to begin.
        functions: The names of the functions.
        evaluate: Evaluates changes, as far as the budget goes.
        sizes: What each function has of what is to be small, by name.
    """
    change, before = start.change, sizes(start)
    if _ALL in change.options:
        return
    for found in evaluate([_with(change, _ALL)]):
        after = sizes(found)
        smaller = [
            _ONE.format(name)
            for name in sorted(functions)
            # The option has no way to name those with a colon.
            if name in before and name in after and after[name] < before[name] and ":" not in name
        ]
        if smaller:
            evaluate([_with(change, *smaller)])


def _with(change: Change, *options: str) -> Change:
    return replace(change, options=(*change.options, *options))
