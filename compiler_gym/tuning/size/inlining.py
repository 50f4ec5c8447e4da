"""Which calls to inline: what LLVM decides by itself, and what can be decided otherwise."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluator
from compiler_gym.tuning.size.moves import LocalMove

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

    def moves_of_callees(self, change: Change) -> list[LocalMove]:
        """Returns moves that inline all calls of a function or none, the most promising first."""
        decided = self._decided(change)
        groups: dict[str, list[CallSite]] = defaultdict(list)
        for site in self._sites:
            groups[site.callee].append(site)
        of_callees: dict[str, list[_Decided]] = defaultdict(list)
        for (_, callee), each in decided.items():
            of_callees[callee].append(each)
        sums = {callee: _sum(each) for callee, each in of_callees.items()}
        moves = ((sites, sums.get(callee)) for callee, sites in groups.items())
        return _moves(moves, _Inlined(decided))

    def moves_of_calls(self, change: Change) -> list[LocalMove]:
        """Returns moves that decide about one of several calls, the most promising first."""
        decided = self._decided(change)
        counts = Counter(site.callee for site in self._sites)
        single = (site for site in self._sites if counts[site.callee] > 1)
        return _moves(
            (([site], decided.get((site.caller, site.callee))) for site in single),
            _Inlined(decided),
        )

    def _decided(self, change: Change) -> dict[tuple[str, str], _Decided]:
        """Returns LLVM's decisions under a change, by caller and callee."""
        decided: dict[tuple[str, str], _Decided] = defaultdict(_Decided)
        if not self._sites:
            return decided
        for callee, is_kept, caller, cost in _REMARK.findall(self._evaluator.remarks(change)):
            each = decided[caller, callee]
            each.kept += bool(is_kept)
            each.inlined += not is_kept
            each.cost += _cost(cost)
        return decided


def _sum(decided: Sequence[_Decided]) -> _Decided:
    return _Decided(
        sum(each.inlined for each in decided),
        sum(each.kept for each in decided),
        sum(each.cost for each in decided),
    )


class _Inlined:
    """The places of the code of functions, after LLVM's decisions by caller and callee."""

    def __init__(self, decided: Mapping[tuple[str, str], _Decided]):
        self._hosts: dict[str, set[str]] = defaultdict(set)
        self._guests: dict[str, set[str]] = defaultdict(set)
        for (caller, callee), each in decided.items():
            if each.inlined:
                self._hosts[callee].add(caller)
                self._guests[caller].add(callee)

    def touched(self, sites: Sequence[CallSite]) -> frozenset[str]:
        """Returns the functions whose code decisions about calls change.

        These are caller and callee, what they are inlined into, and what is inlined into the
        callee: that may have a copy of its own then, or none any more.
        """
        callees = {site.callee for site in sites}
        callers = {site.caller for site in sites}
        above = _closure(callees | callers, self._hosts)
        return frozenset(above | _closure(callees, self._guests))


def _closure(names: set[str], following: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += following.get(name, ())
    return found


def _cost(text: str) -> int:
    try:
        cost = int(text)
    except ValueError:
        return _UNKNOWN_COST
    return cost - _ONLY_CALL if cost < _ONLY_CALL / 2 else cost


def _moves(
    groups: Iterable[tuple[list[CallSite], _Decided | None]], inlined: _Inlined
) -> list[LocalMove]:
    """Returns moves to the opposite decision, or to both if the calls of a group differ.

    For calls without a remark of LLVM, both come last.
    """
    moves: list[tuple[int, LocalMove]] = []
    for sites, decided in groups:
        cost = decided.cost if decided else _UNKNOWN_COST
        numbers, touched = [site.index for site in sites], inlined.touched(sites)
        if decided is None or decided.kept:
            moves.append((cost, LocalMove(partial(decide, numbers, True), touched)))
        if decided is None or decided.inlined:
            lost = -cost if decided else cost
            moves.append((lost, LocalMove(partial(decide, numbers, False), touched)))
    moves.sort(key=lambda move: move[0])
    return [move for _, move in moves]


def decide(sites: Iterable[int], inline: bool, change: Change) -> Change:
    """Returns a change with the same decision about some calls."""
    return change.decide(dict.fromkeys(sites, inline))


def list_call_sites(evaluator: Evaluator) -> list[CallSite]:
    """Returns the calls of a compilation that can be decided."""
    return [CallSite(**each) for each in evaluator.facts("list-call-sites")]
