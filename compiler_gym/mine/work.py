"""The work of a mine on one program or one function. It needs no state of the mine."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler_gym.mine.checks import check
from compiler_gym.mine.decisions import Decision, Effect, Kind, Saving, Tools, measure, scan
from compiler_gym.mine.reduction import Reducer


@dataclass(frozen=True)
class Settings:
    """The settings of a mine.

    Attributes:
        decisions: The decisions that are tried.
        tools: The LLVM.
        versions: Each LLVM that reports name, by its version, the own one first.
        least: The bytes that a decision has to save of a function.
        per_decision: How many functions are reduced for each decision, at most.
        reduce_seconds: How long ``llvm-reduce`` may take for each.
        seconds: After how many seconds no further function is begun. After half of that, no
            further program is.
    """

    decisions: Sequence[Decision]
    tools: Tools
    versions: Mapping[str, Tools]
    least: int = 4
    per_decision: int = 3
    reduce_seconds: float = 60
    seconds: float = math.inf

    @property
    def digest(self) -> str:
        """A digest of all that results depend on, besides the program."""
        facts = (sorted((*self.decisions,)), next(iter(self.versions)), self.least)
        return digest_of(repr(facts).encode())


@dataclass(frozen=True)
class Scanned:
    """A program whose decisions have been measured.

    Attributes:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        size: Its bytes of code with ``clang -Oz``.
        effects: The decisions that make a function smaller.
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
    """A function that a decision makes smaller."""

    scanned: Scanned
    decision: Decision
    saving: Saving

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
        before: The bytes of code with ``clang -Oz``.
        after: The bytes with the decision.
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


def scan_unit(program: str, key: str, unit: Path, settings: Settings) -> Scanned:
    """Measures all decisions on a program.

    Args:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        unit: Its bitcode, in a folder that is used for scratch files.
        settings: The settings.

    Raises:
        ValueError: If the program does not compile.
    """
    before, effects = scan(unit, settings.decisions, unit.parent, settings.tools)
    return Scanned(program, key, before.text, (*effects,))


def reduce_function(
    unit: Path, function: str, decision: Decision, settings: Settings, folder: Path
) -> Reduction:
    """Reduces a function that a decision makes smaller, and checks the result.

    Args:
        unit: The bitcode of its program.
        function: Its symbol.
        decision: The decision.
        settings: The settings.
        folder: A scratch folder.
    """
    reducer = Reducer(decision, settings.least, settings.tools, folder, settings.reduce_seconds)
    reduced = reducer.reduce(unit, function)
    if reduced is None:
        return Reduction("not alone")
    verdict = check(reduced.module, decision, folder, settings.tools)
    if verdict.bogus:
        return Reduction("bogus", why=verdict.bogus)
    before = measure(None, reduced.module, folder, settings.tools)
    after = measure(decision, reduced.module, folder, settings.tools)
    if before is None or after is None:
        return Reduction("not alone")
    return Reduction(
        "reduced",
        module=reduced.module.read_text(),
        lines=reduced.lines,
        is_complete=reduced.is_complete,
        before=before.all,
        after=after.all,
        checks=verdict.checks,
    )


def digest_of(*parts: bytes) -> str:
    """Returns a digest of bytes, of 24 hexadecimal digits."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
