"""Totals of trials, in the form of ``codegen/trial_counts.json`` and of state files."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.util.filesystem import atomic_file_write

_COUNTERS = ("programs", "builds", "options", "uses", "unrecorded")
_FINDINGS = ("clangs", "disputed", "unwinding", "wrong", "unbuilt")


class FewerTrialsError(Exception):
    """Some published trials are not among those that would take their place."""


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
        clangs: Seeds that are wrong in some mode without any change.
        disputed: Seeds on which compilers disagree without any change, endless programs, and those
            that clang alone does not link.
        unwinding: Seeds with correct results whose unwind tables are wrong at some instruction.
        wrong: Seeds with results that are wrong.
        unbuilt: Seeds that do not compile or link with changes.
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
    unrecorded: Counter[str] = field(default_factory=Counter)
    clangs: list[int] = field(default_factory=list)
    disputed: list[int] = field(default_factory=list)
    unwinding: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    unbuilt: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Totals":
        """Returns the totals of a file."""
        facts = json.loads(path.read_text(encoding="utf-8"))
        del facts["summary"]
        facts |= facts.pop("seeds")
        return cls(**facts | {name: Counter(facts[name]) for name in _COUNTERS})

    def write(self, path: Path) -> None:
        """Replaces the file."""
        facts = {name: value for name, value in vars(self).items() if name not in _FINDINGS}
        facts |= {name: dict(sorted(facts[name].items())) for name in _COUNTERS}
        seeds = {name: sorted({*getattr(self, name)}) for name in _FINDINGS}
        with atomic_file_write(path, fileobj=True, mode="w") as file:
            json.dump({"summary": str(self), **facts, "seeds": seeds}, file, indent=1)
            file.write("\n")

    def add(self, found: "Totals") -> None:
        """Adds what was found with another seed, but not that seed to the range."""
        for name, value in vars(found).items():
            if name not in ("first_seed", "next_seed"):
                setattr(self, name, getattr(self, name) + value)

    def check_contains(self, published: "Totals") -> None:
        """Raises :class:`FewerTrialsError` if some published trials would not count any more."""
        if self.next_seed < published.next_seed or not published.uses <= self.uses:
            raise FewerTrialsError(
                f"expected trials that include the published ones, up to seed "
                f"{published.next_seed - 1}; got others, up to seed {self.next_seed - 1}"
            )

    def found(self, name: str) -> int:
        """Returns the number of seeds with a finding.

        Args:
            name: The attribute that lists these findings.
        """
        return len({*getattr(self, name)}) + self.unrecorded[name]

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
