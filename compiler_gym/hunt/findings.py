"""Findings of a hunt, each in a folder for a bug report."""

import platform
import shutil
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler_gym.hunt.failures import Failure, Kind, opt_command, pipeline_of
from compiler_gym.hunt.minimise import Minimal
from compiler_gym.hunt.reproducer import UNSTABLE_RUNS
from compiler_gym.util import llvm_tools
from compiler_gym.util.findings import (
    code_block,
    folder_name,
    new_folder,
    read_facts,
    write_facts,
    write_script,
)
from compiler_gym.util.shell_format import join_cmd

SCRIPT = "run.sh"

_EXPECTED = {
    Kind.CRASH: "opt ends with exit code 0.",
    Kind.HANG: "opt ends in a time that fits the size of the module.",
    Kind.OUT_OF_MEMORY: "opt needs no more memory than fits the size of the module.",
    Kind.BROKEN_MODULE: "The module that the pass leaves is correct.",
    Kind.UNSTABLE: "opt makes the same IR each time.",
    Kind.UNSTABLE_USES: "opt makes the same bitcode each time.",
    Kind.WRONG_OUTPUT: "The program prints what it prints without these passes.",
}
_ACTUAL = {
    Kind.HANG: "It takes more than {seconds:g} seconds of processor time, and {twice:g} were not "
    "enough either; without passes it takes less than {quick:g}.",
    Kind.UNSTABLE: "Some of {runs} runs of the same command make other IR than the first. Which "
    "do may depend on where the system puts memory.",
    Kind.UNSTABLE_USES: "Some of {runs} runs of the same command make other bitcode than the "
    "first, though the textual IR is the same: the uses of values are in another order. Which do "
    "may depend on where the system puts memory.",
    Kind.WRONG_OUTPUT: "It prints something else, or ends in another way.",
}
_MAX_MESSAGE_LINES = 40


@dataclass
class Finding:
    """A defect. Repeated observations count as one finding.

    Attributes:
        name: The name of its folder.
        kind: The kind of failure.
        guilty: The pass that LLVM names, or the last of the necessary passes.
        where: The detail that identifies it, see :class:`Failure`.
        passes: The shortest known sequence of passes, as elements of ``module(...)``.
        module: The file of the program.
        lines: The number of lines of the file; None for bitcode.
        reduced: A description of the reduction.
        program: The URI of the original program.
        trial: The number of the first trial.
        found_with: The passes of the first trial.
        reachable: True if all passes are actions of the LLVM environments.
        guards: For a wrong output, the other builds of the program that work.
        versions: Versions of the tools and the system.
        seen: The number of observations.
    """

    name: str
    kind: str
    guilty: str
    where: str
    passes: list[str]
    module: str
    lines: int | None
    reduced: str
    program: str
    trial: int
    found_with: list[str]
    reachable: bool
    guards: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    seen: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """The key by which equal findings are recognised."""
        return self.kind, self.guilty, self.where


class Findings:
    """The findings of a folder. It is thread-safe.

    Args:
        folder: The folder, which need not exist.
        actions: The elements of ``module(...)`` that are actions.
    """

    def __init__(self, folder: Path, actions: frozenset[str] = frozenset()):
        self._folder = folder
        self._actions = actions
        self._lock = threading.Lock()
        found = [Finding(**facts) for facts in read_facts(folder)]
        self._found = {finding.key: finding for finding in found}

    def all(self) -> list[Finding]:
        """Returns all findings, grouped by kind."""
        with self._lock:
            return sorted(self._found.values(), key=lambda finding: finding.key)

    def guilty(self) -> Counter[str]:
        """Returns the number of findings for each guilty pass."""
        with self._lock:
            counts: Counter[str] = Counter()
            for finding in self._found.values():
                counts[finding.guilty] += finding.seen
            return counts

    def count_known(self, failure: Failure) -> Finding | None:
        """Counts a known failure, and returns its finding; None for a new one."""
        with self._lock:
            return self._count_known(failure)

    def _count_known(self, failure: Failure) -> Finding | None:
        finding = self._found.get((failure.kind.value, failure.guilty, failure.where))
        if finding is not None:
            finding.seen += 1
            write_facts(self._folder / finding.name, finding)
        return finding

    def add(
        self, failure: Failure, minimal: Minimal, program: str, trial: int, found_with: list[str]
    ) -> Finding:
        """Writes a finding, or counts it if another thread has just written it.

        Args:
            failure: The failure with the original program, and its guilty pass.
            minimal: The minimised failure.
            program: The URI of the program.
            trial: The number of the trial.
            found_with: The passes of the trial.

        Returns:
            The finding.

        Raises:
            OSError: If the folder cannot be written.
        """
        with self._lock:
            finding = self._count_known(failure)
            if finding is None:
                finding = self._describe(failure, minimal, program, trial, found_with)
                self._write(finding, failure, minimal)
                self._found[finding.key] = finding
            return finding

    def adopt(self, finding: Finding, folder: Path) -> Finding:
        """Adds a finding that another machine has written, or counts it if it is known here.

        Args:
            finding: The finding.
            folder: Its files. They are copied.

        Returns:
            The finding of this folder.

        Raises:
            OSError: If the folder cannot be written.
        """
        with self._lock:
            known = self._found.get(finding.key)
            if known is not None:
                known.seen += 1
                write_facts(self._folder / known.name, known)
                return known
            with new_folder(self._folder, finding.name) as copy:
                shutil.copytree(folder, copy, dirs_exist_ok=True)
            self._found[finding.key] = finding
            return finding

    def _describe(
        self, failure: Failure, minimal: Minimal, program: str, trial: int, found_with: list[str]
    ) -> Finding:
        passes = list(minimal.reproducer.sequence)
        is_text = minimal.module.suffix == ".ll"
        title = f"{failure.kind.value} {failure.guilty}"
        return Finding(
            name=folder_name(title, f"{title} {failure.where}"),
            kind=failure.kind.value,
            guilty=failure.guilty,
            where=failure.where,
            passes=passes,
            module="reduced.ll" if is_text else "input.bc",
            lines=len(minimal.module.read_text().splitlines()) if is_text else None,
            reduced=minimal.reduced,
            program=program,
            trial=trial,
            found_with=found_with,
            reachable=all(each in self._actions for each in passes),
            guards=list(minimal.reproducer.guards),
            versions=_versions(minimal),
        )

    def _write(self, finding: Finding, failure: Failure, minimal: Minimal) -> None:
        """Writes a folder atomically."""
        with new_folder(self._folder, finding.name) as folder:
            shutil.copyfile(minimal.module, folder / finding.module)
            for name, path in minimal.reproducer.files.items():
                shutil.copyfile(path, folder / name)
            title = f"{finding.kind} in {finding.guilty}"
            script = minimal.reproducer.script(SCRIPT, finding.module, title)
            write_script(folder / SCRIPT, script)
            (folder / "README.md").write_text(_readme(finding, failure, minimal))
            write_facts(folder, finding)


def _versions(minimal: Minimal) -> dict[str, str]:
    versions = {"opt": _first_version(minimal.reproducer.opt)}
    if minimal.reproducer.run is not None:
        versions["clang"] = _first_version(minimal.reproducer.clang)
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    return versions | {"system": f"{system}, {platform.machine()}"}


def _first_version(path: Path) -> str:
    """Returns the line of a tool's version text that has the version."""
    lines = [line.strip() for line in llvm_tools.tool_version(path).splitlines()]
    return next((line for line in lines if "version" in line), "".join(lines[:1]))


def _readme(finding: Finding, failure: Failure, minimal: Minimal) -> str:
    reproducer = minimal.reproducer
    command = opt_command(Path("opt"), reproducer.sequence, Path(finding.module), "output.bc")
    sections: list[tuple[str, str]] = [
        ("Command", code_block(join_cmd(command), "sh")),
        ("Expected", _EXPECTED[failure.kind]),
        ("Actual", _actual(failure, minimal)),
        ("Versions", "\n".join(f"- {name}: {text}" for name, text in finding.versions.items())),
        ("To see it", _how_to_see(finding)),
        ("Where it comes from", _origin(finding)),
    ]
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections)
    return f"# {finding.kind.capitalize()} in `{finding.guilty}`\n\n{body}\n"


def _actual(failure: Failure, minimal: Minimal) -> str:
    seconds = minimal.reproducer.limits.seconds
    said = _ACTUAL.get(failure.kind, "").format(
        seconds=seconds, twice=2 * seconds, quick=seconds / 4, runs=UNSTABLE_RUNS
    )
    lines = failure.messages.strip().splitlines()[:_MAX_MESSAGE_LINES]
    parts = [said] if said else []
    if lines:
        parts.append("With the program as it was found, this was printed:")
        parts.append(code_block("\n".join(lines), "text"))
    return "\n\n".join(parts)


def _how_to_see(finding: Finding) -> str:
    text = (
        f"`./{SCRIPT}` ends with exit code 0 if it happens, and with 1 if it does not; "
        f"`OPT=/path/to/opt ./{SCRIPT}` asks another `opt`. `llvm-reduce --test={SCRIPT} FILE` "
        "goes on from another file."
    )
    if finding.kind != Kind.WRONG_OUTPUT.value:
        return text
    names = [
        f"`-{guard}`" if guard[0] == "O" else f"the {guard} sanitizer" for guard in finding.guards
    ]
    guards = ", ".join(names) or "nothing else"
    return (
        f"{text}\n\nThe program as it is here prints the same each time, and also with {guards}. "
        "Undefined behaviour that none of these shows was not looked for."
    )


def _origin(finding: Finding) -> str:
    return (
        f"Trial {finding.trial} of `compiler-gym hunt`, with {finding.program} and these passes:"
        "\n\n"
        f"{code_block(pipeline_of(finding.found_with), 'text')}\n\n"
        f"The program was reduced: {finding.reduced}."
    )


def as_row(finding: Finding) -> dict[str, Any]:
    """Returns a finding as a row of a table."""
    return {
        "finding": finding.name,
        "passes": len(finding.passes),
        "lines": finding.lines,
        "seen": finding.seen,
        "an action": finding.reachable,
    }
