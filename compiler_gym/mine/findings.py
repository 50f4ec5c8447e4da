"""Findings of a mine: a folder for each, in the form that LLVM's bug tracker wants."""

import re
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from compiler_gym.mine.decisions import Decision, Kind, Tools, baseline_command, compile_with
from compiler_gym.mine.objective import Objective, Trial
from compiler_gym.mine.reduction import code_lines
from compiler_gym.mine.scripts import MODULE, SCRIPT
from compiler_gym.util.findings import (
    code_block,
    folder_name,
    new_folder,
    read_facts,
    write_facts,
    write_script,
)

_OPCODE = re.compile(
    r"^  (?:[%@][^ ]+ = )?(?:(?:tail|musttail|notail) )?"
    r"(?P<opcode>[a-z]+)(?P<rest>.*)$",
    re.MULTILINE,
)
_INTRINSIC = re.compile(r"@(llvm\.[a-z]+(?:\.[a-z]+)?)")
_PREDICATE = re.compile(r" (eq|ne|[su][gl][te]|o[a-z]{2}) ")
# What textual IR of LLVM 22 has and that of older versions has not. The code means the same.
_NEW_IN_IR = re.compile(r" ?captures\([^()]*\)| samesign| dead_on_return| nocreateundeforpoison")


@dataclass(frozen=True)
class Member:
    """A function of a program that was reduced to a finding.

    Attributes:
        program: The program.
        function: The symbol.
        saved: The cost that the decision saves of it.
    """

    program: str
    function: str
    saved: int


@dataclass
class Finding:
    """A missed optimisation.

    Attributes:
        name: The name of its folder.
        kind: The kind of the decision: option, without, before or after.
        text: The option or the pass.
        title: The decision in words.
        before: The cost of the reduced function without the decision: bytes, or instructions that
            it executes.
        after: The cost with the decision.
        lines: The lines of its IR.
        is_complete: Whether the reduction came to its end.
        shape: The instructions of the reduced function, each once.
        checks: The result of each check.
        versions: For each LLVM, the costs without and with the decision, or why there are none.
        members: The functions of the programs that were reduced to it.
    """

    name: str
    kind: str
    text: str
    title: str
    before: int
    after: int
    lines: int
    is_complete: bool
    shape: str
    checks: dict[str, str]
    versions: dict[str, str]
    members: list[Member] = field(default_factory=list)

    @property
    def decision(self) -> Decision:
        """The decision."""
        return Decision(Kind(self.kind), self.text)

    @property
    def saved(self) -> int:
        """The cost saved of all functions that were reduced to it."""
        return sum(each.saved for each in self.members)


class Findings:
    """The findings of a folder. Threads may share an object.

    Args:
        folder: The folder, which need not exist.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._lock = threading.Lock()
        found = [_finding_of(facts) for facts in read_facts(folder)]
        self._found = {(each.decision, each.shape): each for each in found}

    def all(self) -> list[Finding]:
        """Returns all findings, the largest savings first."""
        with self._lock:
            return sorted(self._found.values(), key=lambda each: (-each.saved, each.name))

    def count_of(self, decision: Decision) -> int:
        """Returns how many findings a decision has."""
        with self._lock:
            return sum(each == decision for each, _ in self._found)

    def count_known(self, decision: Decision, shape: str, member: Member) -> Finding | None:
        """Adds a function to the finding that it was reduced to; None if there is no such."""
        with self._lock:
            finding = self._found.get((decision, shape))
            if finding is not None and member not in finding.members:
                finding.members.append(member)
                write_facts(self._folder / finding.name, finding)
            return finding

    def add(self, finding: Finding, objective: Objective, trial: Trial) -> None:
        """Writes a finding to a folder of its own, which is there whole or not at all.

        Args:
            finding: The finding.
            objective: The cost that the decision reduces.
            trial: The reduced function.
        """
        report = write_report(finding, objective, trial)
        with self._lock:
            with new_folder(self._folder, finding.name) as folder:
                shutil.copyfile(trial.module, folder / MODULE)
                for name, text in objective.files(trial.module.read_text(), trial.function).items():
                    (folder / name).write_text(text)
                write_script(folder / SCRIPT, objective.script(trial, is_guarded=False))
                (folder / "README.md").write_text(report)
                write_facts(folder, finding)
            self._found[finding.decision, finding.shape] = finding


def shape_of(module: str) -> str:
    """Returns the instructions of textual IR, each once. They identify a finding."""
    found = set()
    for match in _OPCODE.finditer("\n".join(code_lines(module))):
        opcode, rest = match["opcode"], match["rest"]
        intrinsic = _INTRINSIC.search(rest) if opcode == "call" else None
        predicate = _PREDICATE.search(rest) if opcode.endswith("cmp") else None
        more = intrinsic[1] if intrinsic else predicate[1] if predicate else ""
        found.add(f"{opcode} {more}".strip())
    return ", ".join(sorted(found))


def name_of(decision: Decision, shape: str) -> str:
    """Returns the name of a finding's folder."""
    return folder_name(decision.title, f"{decision.title} {shape}")


def versions_of(objective: Objective, trial: Trial, others: Mapping[str, Tools]) -> dict[str, str]:
    """Returns for each LLVM the costs of a function without and with a decision, in words."""
    older = trial.folder / "older.ll"
    older.write_text(_NEW_IN_IR.sub("", trial.module.read_text()))
    found = {}
    for version, tools in others.items():
        before = after = None
        for source in (trial.module, older):
            if before is None:
                before, after = objective.compare(replace(trial, module=source, tools=tools))
        if before is None:
            found[version] = "it does not read this IR"
        elif after is None:
            found[version] = f"{before} {objective.unit}; it does not know this decision"
        else:
            found[version] = f"{before} {objective.unit}, {after} with the decision"
    return found


def write_report(finding: Finding, objective: Objective, trial: Trial) -> str:
    """Returns the report of a finding: title, IR, commands, expected and actual code."""
    decision, module, unit = finding.decision, trial.module, objective.unit
    clang = f"clang {objective.level}"
    code = {}
    for name, each in (("actual", None), ("expected", decision)):
        path = trial.folder / f"{name}.s"
        compile_with(each, module, path, trial.tools, "-S")
        code[name] = _instructions(path.read_text())
    named = Tools(level=objective.level)
    commands = (
        baseline_command(MODULE, "before.o", named),
        decision.command(MODULE, "after.o", named),
        objective.show_command,
    )
    parts = [
        f"# {objective.claim} {finding.before} {unit}, and {finding.after} {finding.title}",
        code_block(module.read_text(), "llvm"),
        "Commands:",
        code_block("\n".join(commands), "sh"),
        f"Expected, {finding.after} {unit} ({finding.title}):",
        code_block(code["expected"], "asm"),
        f"Actual, {finding.before} {unit} (`{clang}`):",
        code_block(code["actual"], "asm"),
        "Versions tried:",
        _items(finding.versions),
        "Checks:",
        _items(finding.checks),
        f"Seen in: {_members(finding.members)}.",
    ]
    if not finding.is_complete:
        parts.append("The reduction ended when its time was over.")
    return "\n\n".join(parts) + "\n"


def _instructions(text: str) -> str:
    """Returns assembly without directives and comments."""
    lines = (line.partition("#")[0].rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip() and not re.match(r"\s+\.", line))


def _items(items: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in items.items())


def _members(members: Sequence[Member]) -> str:
    return ", ".join(f"`{each.function}` of {each.program}" for each in members)


def _finding_of(facts: dict[str, Any]) -> Finding:
    members = [Member(**each) for each in facts.pop("members")]
    return Finding(**facts, members=members)
