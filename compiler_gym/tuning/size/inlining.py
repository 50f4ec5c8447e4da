"""Decisions about inlining: those of LLVM, and alternatives to them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from compiler_gym.tuning.size.climb import Move
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluator

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
            moves.append((cost, partial(_decide, sites, True)))
        if decided is None or decided.inlined:
            moves.append((-cost if decided else cost, partial(_decide, sites, False)))
    moves.sort(key=lambda move: move[0])
    return [move for _, move in moves]


def _decide(sites: list[int], inline: bool, change: Change) -> Change:
    return change.decide(dict.fromkeys(sites, inline))


def list_call_sites(evaluator: Evaluator) -> list[CallSite]:
    """Returns the calls of a compilation that can be decided."""
    return [CallSite(**each) for each in evaluator.facts("list-call-sites")]
