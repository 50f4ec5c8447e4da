"""Which calls to inline: what LLVM decides by itself, and what can be decided otherwise."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluator
from compiler_gym.tuning.size.moves import LocalMove
from compiler_gym.tuning.size.object_file import ObjectFile

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
        discardable: True if the callee goes away when it is not used, such as inline functions.
        size: The number of instructions of the callee before any pass.
        blocks: The number of its basic blocks.
        arguments: The number of arguments of the call.
        constants: The number of those that are constants.
        other_uses: The number of uses of the callee that are not direct calls.
    """

    index: int
    caller: str
    callee: str
    local: bool
    discardable: bool
    size: int
    blocks: int
    arguments: int
    constants: int
    other_uses: int


@dataclass
class Decided:
    """Counts of inlined and kept calls, and the sum of the costs that LLVM reported."""

    inlined: int = 0
    kept: int = 0
    cost: int = 0


DecidedCalls = Mapping[tuple[str, str], Decided]
"""What LLVM decided about calls, by caller and callee."""


class Inlining:
    """Moves of a search that change decisions about calls.

    Args:
        evaluator: Runs clang on the bitcode of the source.
        sites: The calls of the source.
    """

    def __init__(self, evaluator: Evaluator, sites: Sequence[CallSite]):
        self._evaluator = evaluator
        self._sites = sites
        # Of decisions that are made for LLVM, it reports no costs.
        self._costs: dict[tuple[str, str], int] = {}
        self._decided: dict[Change, DecidedCalls] = {}
        self._made: dict[Change, ObjectFile | None] = {}

    def moves_of_callees(self, change: Change) -> list[LocalMove]:
        """Returns moves that inline all calls of a function or none, the most promising first."""
        return _by_cost(self.of_callees(self.decided(change)))

    def moves_of_calls(self, change: Change) -> list[LocalMove]:
        """Returns moves that decide about one of several calls, the most promising first."""
        return _by_cost(self.of_calls(self.decided(change)))

    def of_callees(self, decided: DecidedCalls) -> list["Decision"]:
        """Returns decisions to inline all calls of a function or none, where LLVM does not."""
        return _decisions(self.by_callee.values(), decided)

    def of_calls(self, decided: DecidedCalls) -> list["Decision"]:
        """Returns decisions about one of several calls of a function, where LLVM does not."""
        several = (sites for sites in self.by_callee.values() if len(sites) > 1)
        return _decisions(([site] for sites in several for site in sites), decided)

    def pins(self, change: Change) -> dict[int, bool]:
        """Returns LLVM's own decisions under a change, by the number of the call.

        If they are part of the change, clang makes nearly the same code. What is then done to a
        function changes no decision, and so hardly any other function.

        A call is missing if the change decides about it, if LLVM has no remark about it, or if it
        inlines only some calls between the same two functions.
        """
        decided, known = self.decided(change), dict(change.calls)
        pins = {}
        for site in self._sites:
            each = decided.get((site.caller, site.callee))
            if each is not None and site.index not in known and not (each.inlined and each.kept):
                pins[site.index] = each.inlined > 0
        return pins

    def calls_of(self, functions: Collection[str]) -> set[int]:
        """Returns the numbers of the calls in functions and of functions."""
        return {
            site.index
            for site in self._sites
            if site.caller in functions or site.callee in functions
        }

    @cached_property
    def by_callee(self) -> dict[str, list[CallSite]]:
        """The calls by the called function."""
        groups: dict[str, list[CallSite]] = defaultdict(list)
        for site in self._sites:
            groups[site.callee].append(site)
        return groups

    def decided(self, change: Change) -> DecidedCalls:
        """Returns LLVM's decisions under a change, by caller and callee."""
        if change not in self._decided:
            self._decided[change] = self._read_decisions(change)
        return self._decided[change]

    def made(self, change: Change) -> ObjectFile | None:
        """Returns the object file of the run of clang with LLVM's decisions under a change.

        None if there was no such run, or if clang failed.
        """
        return self._made.get(change)

    def _read_decisions(self, change: Change) -> DecidedCalls:
        decided: dict[tuple[str, str], Decided] = defaultdict(Decided)
        if not self._sites:
            return decided
        remarks = self._evaluator.remarks(change)
        self._made[change] = remarks.object
        for callee, is_kept, caller, cost in _REMARK.findall(remarks.text):
            each = decided[caller, callee]
            each.kept += bool(is_kept)
            each.inlined += not is_kept
            each.cost += self._cost(caller, callee, cost)
        return decided

    def _cost(self, caller: str, callee: str, text: str) -> int:
        """Returns the cost in a remark, or the last one of such a call that had a number."""
        try:
            cost = int(text)
        except ValueError:
            return self._costs.get((caller, callee), _UNKNOWN_COST)
        cost = cost - _ONLY_CALL if cost < _ONLY_CALL / 2 else cost
        self._costs[caller, callee] = cost
        return cost


def sum_of(decided: Sequence[Decided]) -> Decided:
    """Returns the sums of counts and costs."""
    return Decided(
        sum(each.inlined for each in decided),
        sum(each.kept for each in decided),
        sum(each.cost for each in decided),
    )


class _Inlined:
    """The places of the code of functions, after LLVM's decisions by caller and callee."""

    def __init__(self, decided: Mapping[tuple[str, str], Decided]):
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


@dataclass(frozen=True)
class Decision:
    """A decision about calls of a function that LLVM does not make.

    Attributes:
        sites: The calls.
        inline: Whether to inline them.
        decided: What LLVM decided about them; None without a remark.
        functions: The functions whose code it changes.
    """

    sites: tuple[CallSite, ...]
    inline: bool
    decided: Decided | None
    functions: frozenset[str]

    @property
    def callee(self) -> str:
        """The called function."""
        return self.sites[0].callee

    @property
    def move(self) -> LocalMove:
        """The move that makes the decision."""
        numbers = (site.index for site in self.sites)
        return LocalMove(self.functions, dict.fromkeys(numbers, self.inline))

    @property
    def cost(self) -> int:
        """The cost by LLVM's reckoning; calls without a remark come last."""
        if self.decided is None:
            return _UNKNOWN_COST
        return self.decided.cost if self.inline else -self.decided.cost


def _decisions(groups: Iterable[Sequence[CallSite]], decided: DecidedCalls) -> list[Decision]:
    """Returns the opposite decisions about groups of calls, or both if the calls differ."""
    inlined, found = _Inlined(decided), []
    for sites in groups:
        met = [decided[pair] for pair in pairs_of(sites) if pair in decided]
        sums, touched = sum_of(met) if met else None, inlined.touched(sites)
        if sums is None or sums.kept:
            found.append(Decision(tuple(sites), True, sums, touched))
        if sums is None or sums.inlined:
            found.append(Decision(tuple(sites), False, sums, touched))
    return found


def _by_cost(decisions: Iterable[Decision]) -> list[LocalMove]:
    return [each.move for each in sorted(decisions, key=lambda it: it.cost)]


def pairs_of(sites: Iterable[CallSite]) -> list[tuple[str, str]]:
    """Returns callers and callees of calls, each pair once."""
    return [*dict.fromkeys((site.caller, site.callee) for site in sites)]


def decide(sites: Iterable[int], inline: bool, change: Change) -> Change:
    """Returns a change with the same decision about some calls."""
    return change.decide(dict.fromkeys(sites, inline))


def list_call_sites(evaluator: Evaluator) -> list[CallSite]:
    """Returns the calls of a compilation that can be decided."""
    return [CallSite(**each) for each in evaluator.facts("list-call-sites")]
