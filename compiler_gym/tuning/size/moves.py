"""Moves of a search, and their choice: adjustments of functions, and others."""

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator

Move = Callable[[Change], Change]
"""Makes another change of one."""

# How many moves are tried from the same place. Not the number of jobs, which must not matter.
_WIDTH = 8


def with_options_of(other: Change, change: Change) -> Change:
    """Returns a change with the options and passes of another one."""
    return replace(change, options=other.options, passes=other.passes)


def without_sequence(change: Change) -> Change:
    """Returns a change without the passes of a policy."""
    return replace(change, sequence=())


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


@dataclass(frozen=True)
class LocalMove:
    """A move that changes the size of few functions.

    Attributes:
        functions: The symbols of these functions.
        calls: New decisions about calls: see :class:`Change`.
        adjustments: Adjustments of functions that it adds, or takes away, by number.
    """

    functions: frozenset[str]
    calls: Mapping[int, bool] = field(default_factory=dict)
    adjustments: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def move(self, change: Change) -> Change:
        """Returns the change after the move."""
        return moved(change, [self])

    def saved(self, before: Mapping[str, int], after: Mapping[str, int]) -> int:
        """Returns the bytes that it saves, by the sizes of functions before and after."""
        return sum(before.get(name, 0) - after.get(name, 0) for name in self.functions)


def climb_locally(
    start: Evaluation,
    moves: Sequence[LocalMove],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    cost: Callable[[Evaluation], tuple[int, int]],
    sizes: Callable[[Evaluation], Mapping[str, int]],
    width: int = _WIDTH,
    rounds: int = sys.maxsize,
) -> Evaluation:
    """Tries moves, those of different functions in one evaluation, and keeps those that help.

    Of several adjustments that help a function, the best is kept. The others are tried again with
    it.

    Args:
        start: Where to begin.
        moves: The moves, the most promising first.
        evaluate: Evaluates changes, as far as the budget goes.
        cost: What is to be small.
        sizes: What each function has of that, by name.
        width: How many groups of moves are tried from the same place.
        rounds: How often groups are tried.

    Returns:
        The smallest result.
    """
    best, waiting = start, [*moves]
    while waiting and rounds > 0:
        rounds -= 1
        groups, waiting = groups_of(waiting, width)
        before = sizes(best)
        changes = {moved(best.change, group): group for group in groups}
        found = evaluate([*changes])
        helpful: list[tuple[int, LocalMove]] = []
        for each in found:
            after = sizes(each)
            helpful += [(move.saved(before, after), move) for move in changes[each.change]]
        kept, others = _kept([each for each in helpful if each[0] > 0])
        together = evaluate([moved(best.change, kept)]) if kept else []
        best = min([best, *found, *together], key=cost)
        waiting = [*others, *waiting]
        if not found:  # The budget is used up.
            break
    return best


def _kept(helpful: list[tuple[int, LocalMove]]) -> tuple[list[LocalMove], list[LocalMove]]:
    """Returns the moves to make together, and those that adjust a function of one of them."""
    kept: list[LocalMove] = []
    others: list[LocalMove] = []
    adjusted: set[int] = set()
    for _, each in sorted(helpful, key=lambda it: -it[0]):
        if adjusted.isdisjoint(each.adjustments):
            kept.append(each)
            adjusted.update(each.adjustments)
        else:
            others.append(each)
    return kept, others


def groups_of(
    moves: Sequence[LocalMove], width: int
) -> tuple[list[list[LocalMove]], list[LocalMove]]:
    """Returns groups of moves of different functions, and the moves that are in none.

    Args:
        moves: The moves, the most promising first.
        width: The maximum number of groups.
    """
    groups: list[tuple[list[LocalMove], set[str]]] = []
    rest = []
    for each in moves:
        free = (group for group in groups if group[1].isdisjoint(each.functions))
        group = next(free, None)
        if group is None and len(groups) < width:
            groups.append(group := ([], set()))
        if group is None:
            rest.append(each)
        else:
            group[0].append(each)
            group[1].update(each.functions)
    return [group for group, _ in groups], rest


def moved(change: Change, moves: Iterable[LocalMove]) -> Change:
    """Returns a change after several moves."""
    calls: dict[int, bool] = {}
    adjustments: dict[int, tuple[str, ...]] = {}
    for each in moves:
        calls |= each.calls
        adjustments |= {k: adjustments.get(k, ()) + it for k, it in each.adjustments.items()}
    return change.decide(calls).toggle(adjustments)


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


# With a frame pointer, the entry of a function in .eh_frame need not say how the stack grows and
# shrinks. In 2,179 functions of 100 files of the part train, this saved 6.1 % of code and entries
# together if it was done where the entry had as many bytes as this or more, and 6.4 % if it was
# done where it saved something.
_LEAST_UNWINDING = 48

FRAME_POINTER = "frame-pointer=all"
"""The adjustment that finds the frame of a function by a register."""


def frame_pointers(
    unwinding: Mapping[str, int], functions: Mapping[str, int]
) -> dict[int, tuple[str]]:
    """Returns the adjustments that give frame pointers to functions with large entries.

    Args:
        unwinding: The bytes of the entries by name.
        functions: The numbers of functions by name.
    """
    large = (name for name, size in unwinding.items() if size >= _LEAST_UNWINDING)
    return {functions[name]: (FRAME_POINTER,) for name in large if name in functions}


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
