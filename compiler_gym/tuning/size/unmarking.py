"""Takes the mark of -Oz off functions that have fewer instructions without it.

With it, the code generator prefers instructions that are shorter, even if they are more: ``push``
and ``pop`` of a constant in place of ``mov``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation

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
