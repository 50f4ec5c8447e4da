"""Totals of trials: those of a state file, and the published ones of all trials so far."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler_gym.util.filesystem import atomic_file_write

_COUNTERS = ("programs", "builds", "options", "uses", "unrecorded")
_FINDINGS = ("clangs", "disputed", "unwinding", "wrong", "unbuilt")


class SeedsError(Exception):
    """The seeds of some trials are unknown, or would count twice."""


@dataclass
class Totals:
    """Totals of the trials with consecutive seeds.

    Attributes:
        next_seed: The first seed that has not started.
        first_seed: The first seed that counts.
        cpu_seconds: Processor time, with that of compilers and programs.
        programs: Programs by their kind.
        builds: Programs that were linked with changes, by machine and way of linking.
        options: The builds by machine and option of clang, linker included.
        uses: Objects in the builds that differ from others of their program, by machine and by
            kind of change.
        runs: Runs of the builds.
        taken_back: Builds that were wrong, and that a search takes back by its stack promise.
        clangs: Seeds that are wrong without any change, and the modes. These are skipped.
        disputed: Seeds on which compilers disagree without any change, endless programs, and those
            that clang alone does not link.
        unwinding: Correct results whose unwind tables are wrong at some instruction.
        wrong: Results that are wrong.
        unbuilt: Seeds that do not compile or link with changes, and the errors.
        unrecorded: The number of seeds that early trials found but did not record, by the name of
            the attribute above.
    """

    next_seed: int = 0
    first_seed: int = 0
    cpu_seconds: float = 0.0
    programs: Counter[str] = field(default_factory=Counter)
    builds: Counter[str] = field(default_factory=Counter)
    options: Counter[str] = field(default_factory=Counter)
    uses: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    taken_back: int = 0
    clangs: list[tuple[int, list[str]]] = field(default_factory=list)
    disputed: list[int] = field(default_factory=list)
    unwinding: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[dict[str, Any]] = field(default_factory=list)
    unbuilt: list[dict[str, Any]] = field(default_factory=list)
    unrecorded: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, path: Path, first_seed: int | None = None) -> "Totals":
        """Returns the totals of a state file.

        Args:
            path: The state file.
            first_seed: The first seed of a file that does not record it.

        Raises:
            SeedsError: If the first seed is unknown, or is not that of the file.
        """
        facts = json.loads(path.read_text(encoding="utf-8"))
        recorded = facts.setdefault("first_seed", first_seed)
        if recorded is None:
            raise SeedsError(
                f"{path} does not record its first seed: name the seed that its trials started "
                "with by --first-seed"
            )
        if first_seed not in (None, recorded):
            raise SeedsError(f"{path} starts with seed {recorded}, not {first_seed}")
        if "unbuilt" not in facts:
            # Files of former versions count both as wrong.
            found = facts.get("wrong", [])
            facts["wrong"] = [each for each in found if "error" not in each]
            facts["unbuilt"] = [each for each in found if "error" in each]
        facts.update({name: Counter(facts.get(name, {})) for name in _COUNTERS})
        totals = cls(**facts)
        if totals.tried > totals.next_seed - totals.first_seed:
            raise SeedsError(
                f"{path} counts {totals.tried} seeds, which is more than there are from "
                f"{totals.first_seed} to {totals.next_seed - 1}"
            )
        return totals

    @classmethod
    def of_published(cls, published: Mapping[str, Any]) -> "Totals":
        """Returns the totals of all published trials.

        Args:
            published: The published counts, as :meth:`published` returns them.
        """
        facts = {name: value for name, value in published.items() if name != "summary"}
        facts.update({name: Counter(facts[name]) for name in _COUNTERS})
        seeds = facts.pop("seeds")
        facts["clangs"] = [(seed, []) for seed in seeds["clangs"]]
        facts["disputed"] = seeds["disputed"]
        for name in ("unwinding", "wrong", "unbuilt"):
            facts[name] = [{"seed": seed} for seed in seeds[name]]
        return cls(**facts)

    def write(self, path: Path) -> None:
        """Replaces the file."""
        with atomic_file_write(path, fileobj=True, mode="w") as file:
            json.dump(vars(self), file, indent=1)

    def published(self) -> dict[str, Any]:
        """Returns what is published: all counts, and the seeds of what was found."""
        facts = {name: value for name, value in vars(self).items() if name not in _FINDINGS}
        for name in _COUNTERS:
            facts[name] = dict(sorted(facts[name].items()))
        seeds = {name: self._seeds(name) for name in _FINDINGS}
        return {"summary": str(self), **facts, "seeds": seeds}

    def with_trials(self, state: "Totals") -> "Totals":
        """Returns these published totals with those of a state file.

        Args:
            state: Trials that continue these, or follow them with seeds of their own.

        Raises:
            SeedsError: If some seeds would count twice, or would not count any more.
        """
        if state.first_seed >= self.next_seed:
            total = deepcopy(self)
            total.add(state)
            total.next_seed = state.next_seed
            return total
        if state.first_seed > self.first_seed or not state._has_all_of(self):
            raise SeedsError(
                f"expected trials that start with seed {self.next_seed} or later, or that "
                f"include the published seeds from {self.first_seed} to {self.next_seed - 1}; "
                f"got seeds from {state.first_seed} to {state.next_seed - 1}"
            )
        return state

    def add(self, found: "Totals") -> None:
        """Adds what was found with other seeds, but not the range of these seeds."""
        for name, value in vars(found).items():
            if name not in ("first_seed", "next_seed"):
                setattr(self, name, getattr(self, name) + value)

    def _has_all_of(self, other: "Totals") -> bool:
        counters = (
            getattr(other, name) <= getattr(self, name) for name in ("programs", "builds", "uses")
        )
        return self.next_seed >= other.next_seed and all(counters)

    @property
    def tried(self) -> int:
        """The number of seeds that were tried to the end."""
        return self.programs.total() + self.found("disputed") + self.found("unbuilt")

    def found(self, name: str) -> int:
        """Returns the number of seeds with a finding.

        Args:
            name: The attribute that lists these findings.
        """
        return len(self._seeds(name)) + self.unrecorded[name]

    def _seeds(self, name: str) -> Sequence[int]:
        return sorted({_seed(finding) for finding in getattr(self, name)})

    def __str__(self) -> str:
        taken_back = f"{self.taken_back} builds taken back by the stack promise; "
        taken_back = taken_back if self.taken_back else ""
        programs = ", ".join(f"{count} {name}" for name, count in sorted(self.programs.items()))
        return (
            f"{self.cpu_seconds / 3600:.2f} CPU hours, {self.programs.total()} programs "
            f"({programs or 'none'}), {self.runs} runs of {self.builds.total()} builds with "
            f"changes, {self.found('wrong')} programs wrong; {taken_back}"
            f"{self.found('unbuilt')} do not build with some change; "
            f"{self.found('unwinding')} programs with tables that are wrong at some instruction; "
            f"clang alone makes {self.found('clangs')} wrong in some mode; "
            f"{self.found('disputed')} are left out, as they do not end or compilers differ; "
            f"next seed {self.next_seed}."
        )


def _seed(finding: Any) -> int:
    """Returns the seed of an entry of one of the lists."""
    if isinstance(finding, Mapping):
        return finding["seed"]
    return finding if isinstance(finding, int) else finding[0]
