"""The bytes that decisions about calls are expected to save, learned from trials.

The features of a decision are those of its calls, of the called function, and of what LLVM said
about them. Regression trees make a number of bytes of them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler_gym.tuning.size.boosted_trees import trees_of
from compiler_gym.tuning.size.function_gains import Expected, GainTrees, rows_of
from compiler_gym.tuning.size.inlining import (
    Decided,
    DecidedCalls,
    Decision,
    Inlining,
    pairs_of,
    sum_of,
)
from compiler_gym.tuning.size.object_file import ObjectFile

# Counts of the called function before any pass.
_PROPERTIES = (
    "BasicBlockCount", "LoadInstCount", "StoreInstCount", "TotalInstructionCount",
    "DirectCallCount", "IndirectCallCount", "TopLevelLoopCount", "CallWithPointerArgumentCount",
    "ConditionalBranchCount", "IntrinsicCount", "IntegerInstructionCount", "CastInstructionCount",
)  # fmt: skip


class CallFeatures:
    """The features of decisions about the calls of one source.

    Args:
        inlining: The calls.
        decided: What LLVM decides about them.
        found: The object file, as clang makes it without a change.
        properties: Counts of functions before any pass.
    """

    def __init__(
        self,
        inlining: Inlining,
        decided: DecidedCalls,
        found: ObjectFile,
        properties: Mapping[str, Mapping[str, int]],
    ):
        self._by_callee = inlining.by_callee
        self._decided = decided
        self._found = found
        self._properties = properties
        inlined = [pair for pair, each in decided.items() if each.inlined]
        self._guests = Counter(caller for caller, _ in inlined)
        self._hosts = Counter(callee for _, callee in inlined)
        sites = (site for each in inlining.by_callee.values() for site in each)
        self._calls_in = Counter(site.caller for site in sites)

    def of(self, decision: Decision) -> dict[str, float]:
        """Returns the features of a decision by name."""
        sites, first = decision.sites, decision.sites[0]
        name, count = first.callee, len(sites)
        sizes, pairs = self._found.functions, pairs_of(sites)
        callers = [sizes.get(caller, 0) for caller, _ in pairs]
        mine = decision.decided or Decided()
        every = self._sums(name)
        properties = self._properties.get(name, {})
        return {
            "inline": decision.inline,
            "sites": count,
            "all_sites": len(self._by_callee[name]),
            "inlined": mine.inlined,
            "kept": mine.kept,
            "cost": mine.cost,
            "mean_cost": mine.cost / max(mine.inlined + mine.kept, 1),
            "has_remark": decision.decided is not None,
            "all_inlined": every.inlined,
            "all_kept": every.kept,
            "mean_of_all_costs": every.cost / max(every.inlined + every.kept, 1),
            "local": first.local,
            "discardable": first.discardable,
            "other_uses": first.other_uses,
            "instructions": first.size,
            "instructions_times_sites": first.size * count,
            "blocks": first.blocks,
            "arguments": first.arguments,
            "constants": sum(site.constants for site in sites) / count,
            "bytes": sizes.get(name, 0),
            "bytes_per_instruction": sizes.get(name, 0) / max(first.size, 1),
            "unwinding": self._found.unwinding.get(name, 0),
            "callers": len(pairs),
            "bytes_of_callers": float(np.mean(callers)),
            "callers_with_code": sum(size > 0 for size in callers),
            "guests": self._guests[name],
            "hosts": self._hosts[name],
            "calls_in": self._calls_in[name],
            **{each: properties.get(each, 0) for each in _PROPERTIES},
        }

    def _sums(self, callee: str) -> Decided:
        pairs = pairs_of(self._by_callee[callee])
        return sum_of([self._decided[pair] for pair in pairs if pair in self._decided])


@dataclass(frozen=True)
class CallGains:
    """A model of what decisions about calls save.

    Attributes:
        features: The names of the features.
        trees: Of the square root of the bytes that a decision saves; the negative one of those that
            it adds. So a few large effects do not hide many small ones.
    """

    features: tuple[str, ...]
    trees: GainTrees

    def expected(self, decisions: Sequence[Mapping[str, float]]) -> list[Expected]:
        """Returns the bytes that decisions are expected to save.

        Args:
            decisions: The features of each.
        """
        if not decisions:
            return []
        roots = np.array(self.trees.predict(rows_of(decisions, self.features)))
        return [Expected(*pair) for pair in (np.sign(roots) * roots**2).T.tolist()]

    def as_facts(self) -> dict[str, Any]:
        """Returns what :meth:`from_facts` reads."""
        return {"features": self.features, "trees": self.trees.as_facts()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "CallGains":
        """Reads a model.

        Raises:
            KeyError: If something is missing.
        """
        return cls(tuple(facts["features"]), GainTrees.from_facts(facts["trees"]))


NO_CALL_GAINS = CallGains((), GainTrees(trees_of(0.0, []), trees_of(0.0, [])))
"""The model that was learned from no decision, and expects nothing of any."""
