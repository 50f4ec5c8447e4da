"""Moves of a search, and their choice."""

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from compiler_gym.tuning.size.compilation import Change, is_setting
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator
from compiler_gym.tuning.size.safety import FRAME_POINTER

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


# How many groups of local moves are tried from the same place, and how often before what helped is
# evaluated together.
_GROUPS = 4
_STEPS = 2


def climb_locally(
    start: Evaluation,
    moves: Sequence[LocalMove],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    cost: Callable[[Evaluation], tuple[int, int]],
    sizes: Callable[[Evaluation], Mapping[str, int]],
    width: int = _GROUPS,
    steps: int = _STEPS,
    rounds: int = sys.maxsize,
) -> tuple[Evaluation, list[LocalMove]]:
    """Tries moves, those of different functions in one evaluation, and keeps those that help.

    Each step tries groups of moves. What helped is part of the next step. Of several moves that
    help a function, the best is kept, and the others are tried again with it. A round ends with
    the evaluation of all that helped.

    Args:
        start: Where to begin.
        moves: The moves, the most promising first.
        evaluate: Evaluates changes, as far as the budget goes.
        cost: What is to be small.
        sizes: What each function has of that, by name.
        width: The number of groups of a step.
        steps: The number of steps of a round.
        rounds: The maximum number of rounds.

    Returns:
        The smallest result, and the moves that were not tried.
    """
    best, waiting, found = start, [*moves], [start]
    while waiting and rounds > 0 and found:
        rounds -= 1
        draft = _Draft(best.change, dict(sizes(best)))
        for _ in range(steps):
            groups, waiting = groups_of(waiting, width)
            changes = {moved(draft.change, group): group for group in groups}
            found = evaluate([*changes]) if groups else []
            tried = [(it, sizes(each)) for each in found for it in changes.get(each.change, ())]
            waiting = [*draft.keep(tried), *waiting]
            best = min([best, *found], key=cost)
        best = min([best, *evaluate([draft.change])], key=cost)
    return best, waiting


@dataclass
class _Draft:
    """A change of moves that each helped, which is not evaluated.

    Attributes:
        change: The change.
        sizes: What each function is expected to have with it.
    """

    change: Change
    sizes: dict[str, int]

    def keep(self, tried: Iterable[tuple[LocalMove, Mapping[str, int]]]) -> list[LocalMove]:
        """Adds moves that help. Returns those that help functions of others that help more.

        Args:
            tried: Moves with the sizes of functions after them.
        """
        helpful = [(move.saved(self.sizes, after), move, after) for move, after in tried]
        kept: list[LocalMove] = []
        others: list[LocalMove] = []
        taken: set[str] = set()
        for saved, move, after in sorted(helpful, key=lambda it: -it[0]):
            if saved <= 0:
                break
            if taken.isdisjoint(move.functions):
                kept.append(move)
                taken |= move.functions
                self.sizes |= {name: after.get(name, 0) for name in move.functions}
            else:
                others.append(move)
        self.change = moved(self.change, kept)
        return others


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


@dataclass(frozen=True)
class Function:
    """A function of a source.

    Attributes:
        index: Its number in the module.
        name: Its name.
        content: A digest of its unoptimised code, in which names of values do not matter.
        kept: True if the user has excluded it.
        recursive: True if it calls itself, directly or through other functions.
        special: Contents for which decisions have no preconditions, such as inline assembly.
    """

    index: int
    name: str
    content: str
    kept: bool = False
    recursive: bool = False
    special: Sequence[str] = ()

    @property
    def is_excluded(self) -> bool:
        """True if no decision may change the function."""
        return self.kept or len(self.special) > 0

    def permits(self, adjustment: str) -> bool:
        """Returns false if the plugin ignores an adjustment of the function.

        The rules are those of ``FunctionTraits::permits`` of the plugin, which enforces them. Here
        they save evaluations.
        """
        return not self.is_excluded and (is_setting(adjustment) or not self.recursive)


def functions_of(evaluator: Evaluator) -> list[Function]:
    """Returns the functions of a compilation."""
    return [Function(**each) for each in evaluator.facts("list-functions")]


def list_functions(evaluator: Evaluator) -> dict[str, int]:
    """Returns the numbers of the functions of a compilation, by name."""
    return numbers_of(functions_of(evaluator))


def numbers_of(functions: Iterable[Function]) -> dict[str, int]:
    """Returns the numbers of functions by name."""
    return {each.name: each.index for each in functions}


def spared(change: Change, functions: Collection[int], calls: Collection[int]) -> Change:
    """Returns a change without its decisions about some functions and calls.

    Args:
        change: The change.
        functions: The numbers of the functions.
        calls: The numbers of the calls.
    """
    return replace(
        change,
        functions=tuple(each for each in change.functions if each[0] not in functions),
        calls=tuple(each for each in change.calls if each[0] not in calls),
    )


def permitted(moves: Iterable[LocalMove], functions: Iterable[Function]) -> list[LocalMove]:
    """Returns moves without adjustments that the plugin ignores, and without moves of only those.

    Args:
        moves: The moves.
        functions: All functions of the source.
    """
    by_index = {each.index: each for each in functions}
    kept = []
    for move in moves:
        adjustments = {
            index: tuple(text for text in texts if by_index[index].permits(text))
            for index, texts in move.adjustments.items()
        }
        rest = {index: texts for index, texts in adjustments.items() if texts}
        if rest or move.calls:
            kept.append(replace(move, adjustments=rest))
    return kept


# With a frame pointer, the entry of a function in .eh_frame need not say how the stack grows and
# shrinks. In 2,179 functions of 100 files of the part train, this saved 6.1 % of code and entries
# together if it was done where the entry had as many bytes as this or more, and 6.4 % if it was
# done where it saved something.
_LEAST_UNWINDING = 48


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


def adjusting(functions: Mapping[str, int], adjustments: Iterable[str]) -> list[LocalMove]:
    """Returns the moves that each add an adjustment to a function, or take it away.

    After inlining, what LLVM does to a function has next to nothing to do with others.

    Args:
        functions: The numbers of the functions by name.
        adjustments: The adjustments, the most promising first.
    """
    return [
        LocalMove(frozenset([name]), {}, {index: (text,)})
        for text in adjustments
        for name, index in functions.items()
    ]


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
