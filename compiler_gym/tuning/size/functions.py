"""Leaves passes out of single functions: each evaluation tries one in every function at once.

After inlining, what LLVM does to a function has next to nothing to do with others, so that each
keeps what was best for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation, Evaluator


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


def skip_passes(
    start: Evaluation,
    functions: Mapping[str, int],
    passes: Sequence[str],
    evaluate: Callable[[Sequence[Change]], list[Evaluation]],
    cost: Callable[[Evaluation], tuple[int, int]],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> Evaluation:
    """Leaves out of each function the pass without which it is smallest, if it is smaller then.

    Args:
        start: Where to begin.
        functions: The numbers of the functions by name.
        passes: What can be left out.
        evaluate: Evaluates changes, as far as the budget goes.
        cost: What is to be small.
        sizes: What each function has of that, by name.

    Returns:
        The smallest result.
    """
    before = sizes(start)
    present = {name: functions[name] for name in before if name in functions}
    changes = {
        start.change.skip(dict.fromkeys(present.values(), name)): name for name in passes if present
    }
    found = evaluate([*changes])
    after = {changes[each.change]: sizes(each) for each in found}
    best: dict[int, str] = {}
    for function, index in present.items():
        smaller = {
            name: each[function]
            for name, each in after.items()
            if function in each and each[function] < before[function]
        }
        if smaller:
            best[index] = min(smaller, key=lambda name: smaller[name])
    together = evaluate([start.change.skip(best)]) if best else []
    return min([start, *found, *together], key=cost)
