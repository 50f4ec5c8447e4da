"""Measures what each decision of a change is good for, by leaving it out."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator
from compiler_gym.tuning.size.functions import list_functions
from compiler_gym.tuning.size.inlining import CallSite, list_call_sites
from compiler_gym.tuning.size.report import compare_functions
from compiler_gym.util.shell_format import plural

_MAX_EVALUATIONS = 32


@dataclass(frozen=True)
class Effect:
    """The difference that a decision makes to a result.

    Attributes:
        decision: The decision in words; ``{}`` stands for the symbol.
        symbol: The symbol of the function that it is about; empty if there is none.
        saved: What the result is smaller by, compared with the result without the decision, in the
            unit of the objective; negative if it is larger. None if clang fails without it.
        functions: What each function is smaller by, the largest difference first.
    """

    decision: str
    symbol: str
    saved: int | None
    functions: tuple[tuple[str, int], ...] = ()


def measure_effects(
    best: Evaluation,
    evaluator: Evaluator,
    size: Callable[[Evaluation], int],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> tuple[list[Effect], int]:
    """Leaves each decision of a change out, one at a time.

    Passes that are left out of single functions are put back into all functions at once, the first
    of each function, then the second, and so on. What a function loses by that is put down to its
    own pass.

    Args:
        best: The result.
        evaluator: Runs clang, without a budget.
        size: Returns the size of a result.
        sizes: Returns the size of each function of a result.

    Returns:
        The effects, the largest saving first, and the number of decisions that were not measured
        because there are too many.
    """
    decisions = [*_decisions(best.change, evaluator)]
    rounds = [*_rounds(best.change)][:_MAX_EVALUATIONS]
    measured = decisions[: _MAX_EVALUATIONS - len(rounds)]
    wanted = [*(change for _, _, change in measured), *(change for _, change in rounds)]
    found = {each.change: each for each in evaluator.evaluate(wanted)}
    effects = [
        _effect(text, symbol, best, found.get(change), size, sizes)
        for text, symbol, change in measured
    ]
    if rounds:
        names = {index: name for name, index in list_functions(evaluator).items()}
        effects += _effects_of_rounds(rounds, names, best, found, sizes)
    effects.sort(key=lambda each: (-(each.saved or 0), each.decision, each.symbol))
    return effects, len(decisions) - len(measured)


def _effect(
    decision: str,
    symbol: str,
    best: Evaluation,
    without: Evaluation | None,
    size: Callable[[Evaluation], int],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> Effect:
    if without is None:
        return Effect(decision, symbol, None)
    changes = compare_functions(sizes(without), sizes(best))
    functions = tuple((each.name, each.saved) for each in changes)
    return Effect(decision, symbol, size(without) - size(best), functions)


def _decisions(change: Change, evaluator: Evaluator) -> Iterator[tuple[str, str, Change]]:
    """Yields decisions, the symbol that each is about, and the change without it."""
    for option in change.options:
        rest = tuple(each for each in change.options if each != option)
        yield option, "", replace(change, options=rest)
    for name in change.passes:
        rest = tuple(each for each in change.passes if each != name)
        yield name, "", replace(change, passes=rest)
    if change.sequence:
        text = f"{plural(len(change.sequence), 'pass', 'passes')} of the policy"
        yield text, "", replace(change, sequence=())
    if change.calls:
        yield from _decisions_about_calls(change, list_call_sites(evaluator))


def _decisions_about_calls(
    change: Change, sites: Sequence[CallSite]
) -> Iterator[tuple[str, str, Change]]:
    """Yields the decisions about the calls of each function as one."""
    callees = {each.index: each.callee for each in sites}
    groups: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for index, is_inlined in change.calls:
        groups[callees.get(index, "?"), is_inlined].append(index)
    for (callee, is_inlined), indices in groups.items():
        calls = tuple(each for each in change.calls if each[0] not in indices)
        verb = "inline" if is_inlined else "do not inline"
        text = f"{verb} {{}} ({plural(len(indices), 'call')})"
        yield text, callee, replace(change, calls=calls)


def _rounds(change: Change) -> Iterator[tuple[dict[int, str], Change]]:
    """Yields a pass of each function, by its number, and the change without leaving these out."""
    longest = max((len(names) for _, names in change.skipped), default=0)
    for number in range(longest):
        passes = {index: names[number] for index, names in change.skipped if number < len(names)}
        rest = (
            (index, tuple(each for each in names if each != passes.get(index)))
            for index, names in change.skipped
        )
        yield passes, replace(change, skipped=tuple(each for each in rest if each[1]))


def _effects_of_rounds(
    rounds: Sequence[tuple[Mapping[int, str], Change]],
    names: Mapping[int, str],
    best: Evaluation,
    found: Mapping[Change, Evaluation],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> list[Effect]:
    saved: dict[str, dict[str, int]] = defaultdict(dict)
    after = sizes(best)
    for passes, change in rounds:
        without = found.get(change)
        if without is None:
            continue
        before = sizes(without)
        for index, name in passes.items():
            function = names.get(index, "")
            if function in before and function in after:
                saved[name][function] = before[function] - after[function]
    return [
        Effect(
            f"leave out {name} ({plural(len(functions), 'function')})",
            "",
            sum(functions.values()),
            tuple(sorted(functions.items(), key=lambda each: (-abs(each[1]), each[0]))),
        )
        for name, functions in saved.items()
    ]
