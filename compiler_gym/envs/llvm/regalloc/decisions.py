"""Files with decisions of LLVM's register allocator, which a stock clang can make.

A file is text. It has one part for each unit, so that files can be joined with ``cat``:

.. code-block:: text

    # Lines like this one are comments.
    unit src/lzss.c
    function compress
    candidate-3 of 0 1 3 none
    none of 2 none (default)

Each line after ``function`` answers one question about it, in LLVM's order: the answer, and the
candidates that can be chosen. They show whether a compiler asks the same question. ``(default)``
marks answers that LLVM's own rule gives.

The lines of a unit may answer questions about priorities instead: ``priority 12 of size 240``. The
live range with the highest number in a function is assigned a register first. The size of the live
range shows whether a compiler asks the same question.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from compiler_gym.util.filesystem import read_text

CANDIDATES = 33
"""The candidates of a question. The last one evicts nothing."""

NONE = CANDIDATES - 1
"""The candidate that evicts nothing."""

_EVICTION = re.compile(r"(?:candidate-(\d+)|none) of ((?:\d+ )*(?:\d+|none))( \(default\))?")
_PRIORITY = re.compile(r"priority (\d+) of size (\d+)( \(default\))?")


@dataclass(frozen=True)
class EvictionDecision:
    """The answer to a question about an eviction.

    Attributes:
        chosen: The candidate.
        legal: The candidates that can be chosen, in ascending order.
        is_default: Whether LLVM's own rule chooses the same.
    """

    chosen: int
    legal: tuple[int, ...]
    is_default: bool

    def __str__(self) -> str:
        answer = "none" if self.chosen == NONE else f"candidate-{self.chosen}"
        legal = " ".join("none" if each == NONE else str(each) for each in self.legal)
        return f"{answer} of {legal}" + " (default)" * self.is_default


@dataclass(frozen=True)
class PriorityDecision:
    """The answer to a question about the priority of a live range.

    Attributes:
        priority: The rank of the priority among those of the function: 0 is assigned last.
        size: The length of the live range, as LLVM measures it: about 16 for each instruction.
        is_default: Whether LLVM's own rule gives the same priority.
    """

    priority: int
    size: int
    is_default: bool

    def __str__(self) -> str:
        return f"priority {self.priority} of size {self.size}" + " (default)" * self.is_default


Decision = EvictionDecision | PriorityDecision


@dataclass(frozen=True)
class UnitDecisions:
    """The decisions for one unit.

    Attributes:
        unit: The source: the last parts of its path.
        functions: The answers for each function, in LLVM's order. All are of the same kind.
    """

    unit: str
    functions: Mapping[str, tuple[Decision, ...]]

    @property
    def is_about_priorities(self) -> bool:
        """True if the answers are priorities rather than evictions."""
        return any(isinstance(each, PriorityDecision) for each in _first(self.functions))

    def is_for(self, source: str | Path) -> bool:
        """Returns whether a path ends with the name of the unit."""
        parts = PurePath(self.unit).parts
        return Path(source).absolute().parts[-len(parts) :] == parts

    def __str__(self) -> str:
        lines = [f"unit {self.unit}"]
        for name, decisions in self.functions.items():
            lines += [f"function {name}", *map(str, decisions)]
        return "\n".join(lines) + "\n"


def write_decisions(path: Path, units: Iterable[UnitDecisions], comment: str) -> None:
    """Writes a file.

    Args:
        path: The file.
        units: The units.
        comment: A line to begin with.

    Raises:
        OSError: If it cannot be written.
    """
    path.write_text(f"# {comment}\n" + "".join(map(str, units)), encoding="utf-8")


def read_decisions(path: Path) -> list[UnitDecisions]:
    """Reads a file.

    Raises:
        OSError: If it cannot be read.
        ValueError: If a line has another form. The text names it.
    """
    units: list[UnitDecisions] = []
    functions: dict[str, tuple[Decision, ...]] = {}
    answers: list[Decision] | None = None
    name = ""
    for number, line in _lines(path):
        kind, _, rest = line.partition(" ")
        if kind == "unit" and rest:
            functions, answers = {}, None
            units.append(UnitDecisions(rest, functions))
        elif kind == "function" and rest and units and rest not in functions:
            name, answers = rest, []
            functions[name] = ()
        elif answers is not None and (decision := _decision(line)):
            if any(type(each) is not type(decision) for each in _first(functions)):
                raise ValueError(
                    f"{path}:{number}: expected evictions or priorities in a unit, got both"
                )
            answers.append(decision)
            functions[name] = (*answers,)
        else:
            raise ValueError(
                f"{path}:{number}: expected 'unit NAME', 'function NAME' or an answer such as "
                f"'candidate-3 of 0 1 3 none' or 'priority 12 of size 240', got '{line}'"
            )
    return units


def decisions_for(path: Path, source: str) -> UnitDecisions | None:
    """Returns the decisions of a file for a source; None if there are none.

    The most exact name counts: others may be those of files in other folders.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such file.
    """
    units = [each for each in read_decisions(path) if each.is_for(source)]
    return max(units, key=lambda each: len(PurePath(each.unit).parts), default=None)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, text


def _first(functions: Mapping[str, tuple[Decision, ...]]) -> tuple[Decision, ...]:
    """Returns the first decision, if there is any."""
    return next((each[:1] for each in functions.values() if each), ())


def _decision(line: str) -> Decision | None:
    if match := _PRIORITY.fullmatch(line):
        return PriorityDecision(int(match[1]), int(match[2]), match[3] is not None)
    match = _EVICTION.fullmatch(line)
    if match is None:
        return None
    legal = tuple(NONE if word == "none" else int(word) for word in match[2].split())
    chosen = NONE if match[1] is None else int(match[1])
    return EvictionDecision(chosen, legal, match[3] is not None) if chosen in legal else None
