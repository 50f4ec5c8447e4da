"""Goes from a change to better ones, by moves of which several are tried at a time."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import reduce

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation

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
