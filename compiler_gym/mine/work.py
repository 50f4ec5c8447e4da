"""The work of a mine on one program or one function. It needs no state of the mine."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from compiler_gym.mine.checks import check
from compiler_gym.mine.decisions import Decision, Effect, Kind, Saving, Tools
from compiler_gym.mine.objective import Objective, Trial
from compiler_gym.mine.reduction import Reducer
from compiler_gym.mine.size import SIZE


@dataclass(frozen=True)
class Settings:
    """The settings of a mine.

    Attributes:
        decisions: The decisions that are tried.
        tools: The LLVM.
        versions: Each LLVM that reports name, by its version, the own one first.
        least: The saving of a function that counts, see :attr:`Objective.least`.
        per_decision: How many functions are reduced for each decision, at most.
        reduce_seconds: How long ``llvm-reduce`` may take for each.
        seconds: After how many seconds no further function is begun. After half of that, no
            further program is.
        objective: The cost that decisions reduce. The tools have its level of optimisation.
    """

    decisions: Sequence[Decision]
    tools: Tools
    versions: Mapping[str, Tools]
    least: int = SIZE.least
    per_decision: int = 3
    reduce_seconds: float = 60
    seconds: float = math.inf
    objective: Objective = SIZE

    def __post_init__(self) -> None:
        if self.tools.level != self.objective.level:
            raise ValueError(f"expected tools at {self.objective.level}, got {self.tools.level}")

    @property
    def digest(self) -> str:
        """A digest of all that results depend on, besides the program."""
        facts = (
            sorted((*self.decisions,)),
            next(iter(self.versions)),
            self.least,
            *self.objective.digest_parts(),
        )
        return digest_of(repr(facts).encode())


@dataclass(frozen=True)
class Scanned:
    """A program whose decisions have been measured.

    Attributes:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        size: The cost of all functions without a decision.
        effects: The decisions with which a function costs less.
    """

    program: str
    key: str
    size: int
    effects: tuple[Effect, ...]

    def as_json(self) -> dict[str, Any]:
        """Returns the scan for JSON."""
        effects = [
            {
                "kind": each.decision.kind.value,
                "text": each.decision.text,
                "net": each.net,
                "savings": [[one.function, one.before, one.after] for one in each.savings],
            }
            for each in self.effects
        ]
        facts = {"program": self.program, "key": self.key, "size": self.size}
        return {**facts, "effects": effects}

    @staticmethod
    def from_json(facts: Mapping[str, Any]) -> "Scanned":
        """Returns the scan that :meth:`as_json` has written."""
        effects = tuple(
            Effect(
                Decision(Kind(each["kind"]), each["text"]),
                each["net"],
                tuple(Saving(*one) for one in each["savings"]),
            )
            for each in facts["effects"]
        )
        return Scanned(facts["program"], facts["key"], facts["size"], effects)


@dataclass(frozen=True)
class Candidate:
    """A function that costs less with a decision."""

    scanned: Scanned
    decision: Decision
    saving: Saving

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.saving.function} of {self.scanned.program}, {self.decision.title}"

    @property
    def key(self) -> str:
        """The name under which its outcome is kept."""
        text = f"{self.scanned.key} {self.decision.title} {self.saving.function}"
        return digest_of(text.encode())


@dataclass(frozen=True)
class Reduction:
    """The result of reducing a function. It has no paths, so that other machines can return it.

    Attributes:
        verdict: ``reduced``, ``bogus`` or ``not alone``.
        why: Why it is bogus.
        module: The textual IR.
        lines: The lines of the IR, without empty ones and comments.
        is_complete: Whether the reduction came to its end.
        before: The cost without the decision.
        after: The cost with the decision.
        checks: The result of each check.
    """

    verdict: str
    why: str = ""
    module: str = ""
    lines: int = 0
    is_complete: bool = False
    before: int = 0
    after: int = 0
    checks: Mapping[str, str] = field(default_factory=dict)


def scan_unit(
    program: str,
    key: str,
    unit: Path,
    settings: Settings,
    is_over: Callable[[], bool] = lambda: False,
) -> Scanned:
    """Measures all decisions on a program.

    Args:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        unit: Its bitcode, in a folder that is used for scratch files.
        settings: The settings.
        is_over: Returns true if the result is not needed any more, and may be incomplete.

    Raises:
        ValueError: If the program does not compile.
    """
    size, effects = settings.objective.scan(
        unit, settings.decisions, settings.least, settings.tools, is_over
    )
    return Scanned(program, key, size, (*effects,))


def reduce_function(
    unit: Path, function: str, decision: Decision, settings: Settings, folder: Path
) -> Reduction:
    """Reduces a function that costs less with a decision, and checks the result.

    Args:
        unit: The bitcode of its program.
        function: Its symbol.
        decision: The decision.
        settings: The settings.
        folder: A scratch folder.
    """
    objective = settings.objective
    program = Trial(unit, function, decision, settings.least, settings.tools, folder)
    reduced = Reducer(objective, program, settings.reduce_seconds).reduce()
    if reduced is None:
        return Reduction("not alone")
    trial = replace(program, module=reduced.module)
    verdict = check(objective, trial)
    if verdict.bogus:
        return Reduction("bogus", why=verdict.bogus)
    before, after = objective.compare(trial)
    if before is None or after is None:
        return Reduction("not alone")
    return Reduction(
        "reduced",
        module=reduced.module.read_text(),
        lines=reduced.lines,
        is_complete=reduced.is_complete,
        before=before,
        after=after,
        checks=verdict.checks,
    )


def digest_of(*parts: bytes) -> str:
    """Returns a digest of bytes, of 24 hexadecimal digits."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
