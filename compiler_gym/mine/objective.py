"""The interface of an objective: the cost of a function that decisions reduce."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from compiler_gym.mine.decisions import Decision, Effect, Saving, Tools


@dataclass(frozen=True)
class Trial:
    """A function that is compiled with and without a decision.

    Attributes:
        module: The textual IR of the function and of all that it needs.
        function: Its symbol.
        decision: The decision.
        least: The saving that counts, see :attr:`Objective.least`.
        tools: The LLVM.
        folder: A scratch folder.
    """

    module: Path
    function: str
    decision: Decision
    least: int
    tools: Tools
    folder: Path


@dataclass(frozen=True)
class Verdict:
    """The result of the checks.

    Attributes:
        bogus: Why the saving does not count; empty if it does.
        checks: What each check says, by its name.
    """

    bogus: str = ""
    checks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Objective(ABC):
    """A cost of functions: its measurement, and the words that reports use.

    Objectives have no state, so that they can be sent to other machines.

    Attributes:
        name: The name on the command line.
        level: The option of clang for the level of optimisation.
        unit: The unit of the cost.
        claim: Begins the title of a report, before the cost.
        total: Names the sum of the costs of all functions.
        gain: Names functions that cost less.
        heading: The title of the table of decisions.
        least: The saving of a function that counts, unless the user wants another one.
        findings: The name of the folder for findings.
        show_command: The line of a report that shows both costs.
        removed_attributes: Attributes of functions that are removed before anything else.
        kept_attributes: Attributes of functions that a reduction keeps.
        fixed_parts: Names of the passes of ``llvm-reduce`` that must not run, besides those that
            change the meaning of the IR.
        has_entry: Whether a reduction keeps the function that it began with, and nothing that no
            function uses.
        has_vectors: Whether ``poison`` as the operand of a vector instruction is no error.
    """

    name: ClassVar[str]
    level: ClassVar[str]
    unit: ClassVar[str]
    claim: ClassVar[str]
    total: ClassVar[str]
    gain: ClassVar[str]
    heading: ClassVar[str]
    least: ClassVar[int]
    findings: ClassVar[str]
    show_command: ClassVar[str]
    removed_attributes: ClassVar[tuple[str, ...]]
    kept_attributes: ClassVar[tuple[str, ...]]
    fixed_parts: ClassVar[tuple[str, ...]]
    has_entry: ClassVar[bool]
    has_vectors: ClassVar[bool]

    @abstractmethod
    def known_decisions(self) -> list[Decision]:
        """Returns the decisions that are tried."""

    @abstractmethod
    def check_machine(self) -> None:
        """Checks that this machine can measure the cost.

        Raises:
            EnvironmentNotSupported: If it cannot.
        """

    @abstractmethod
    def digest_parts(self) -> tuple[str, ...]:
        """Returns what makes the results of this objective different from those of others."""

    @abstractmethod
    def scan(
        self,
        unit: Path,
        decisions: Sequence[Decision],
        least: int,
        tools: Tools,
        is_over: Callable[[], bool],
    ) -> tuple[int, list[Effect]]:
        """Measures a program with each decision alone.

        Args:
            unit: The program: IR on which no pass has run, in a folder for scratch files.
            decisions: The decisions.
            least: The saving of a function that counts.
            tools: The LLVM.
            is_over: Returns true if the result is not needed any more, and may be incomplete.

        Returns:
            The cost of all functions without a decision, and the decisions with which a function
            costs less.

        Raises:
            ValueError: If the program does not compile.
        """

    @abstractmethod
    def is_promising(self, saving: Saving, least: int) -> bool:
        """Returns whether a function is to be reduced."""

    @abstractmethod
    def saving_of(self, before: int, after: int) -> int:
        """Returns the saving of two costs, to compare with :attr:`least`."""

    @abstractmethod
    def prepare(self, trial: Trial) -> Mapping[str, str] | None:
        """Prepares the scratch folder for the script.

        Returns:
            Environment variables for the script; None if the function cannot be measured.
        """

    @abstractmethod
    def script(self, trial: Trial, is_guarded: bool) -> str:
        """Returns the script that tells whether a decision saves enough of a module.

        Args:
            trial: The function. The script does not depend on its module.
            is_guarded: Whether modules with undefined behaviour that shows are refused.
        """

    @abstractmethod
    def files(self, module: str, function: str) -> Mapping[str, str]:
        """Returns the files that the script needs in a finding's folder, by their names."""

    @abstractmethod
    def compare(self, trial: Trial) -> tuple[int | None, int | None]:
        """Returns the costs without and with the decision; None where it does not compile."""

    @abstractmethod
    def check(self, trial: Trial) -> Verdict:
        """Makes the checks that only this objective has, after all others."""

    @abstractmethod
    def columns(self, checks: Mapping[str, str]) -> dict[str, str]:
        """Returns columns for the table of findings that only this objective has."""
