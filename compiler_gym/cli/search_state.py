"""The state of a search for sequences on one program, and its limits."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.cli.options import program_name
from compiler_gym.evaluation.rows import cost_ratio

#: The proof of a result if ``opt`` is not installed.
NO_OPT = "not installed"

#: The sizes to reduce: the observation of each cost, and the prefix of its baselines.
COSTS = {
    "instructions": ("IrInstructionCount", "IrInstructionCount"),
    "bytes": ("ObjectTextSizeBytes", "ObjectTextSize"),
}

#: The least number of tries: the first candidates, whose best is the floor of the result.
FEWEST_TRIES = 5

# The time or tries for removing passes without effect, as a share of those of the search.
_SHARE_OF_SHORTENING = 0.2

# Times are kept for numbers of tries with so many digits before zeros: 99, 100, 110 and 1,200.
_DIGITS_OF_PACE = 2


@dataclass(frozen=True)
class Budget:
    """The end of a search for one program, and what it may use.

    Attributes:
        seconds: The search time; None for no limit.
        tries: The number of sequences to try; None for no limit. With this limit alone, the result
            follows from the seed.
        llvm_only: Whether to leave out the passes of this project. Marks of functions are no
            passes.
    """

    seconds: float | None = None
    tries: int | None = None
    llvm_only: bool = False

    def parts(self) -> tuple["Limit", "Limit"]:
        """Returns the limits of searching and of removing passes, which begin now."""
        now, share = time.monotonic(), _SHARE_OF_SHORTENING
        seconds = self.seconds
        return (
            Limit(None if seconds is None else now + seconds * (1 - share), self.tries),
            Limit(
                None if seconds is None else now + seconds,
                None if self.tries is None else int(self.tries * share),
            ),
        )


@dataclass(frozen=True)
class Limit:
    """The end of a part of a search.

    Attributes:
        deadline: The end by the monotonic clock, in seconds; None for no limit.
        tries: The number of sequences to try; None for no limit.
    """

    deadline: float | None
    tries: int | None

    def is_over(self, tries: int) -> bool:
        """Returns true after so many tries, or too late."""
        is_late = self.deadline is not None and time.monotonic() > self.deadline
        return is_late or (self.tries is not None and tries >= self.tries)


@dataclass
class Game:
    """The state of the search on one program.

    Attributes:
        uri: Its URI.
        goal: The cost to reduce.
        state: The current phase: "waiting", "baselines", "searching", "shortening", "proving" or
            "done".
        costs: The values of each cost after ``O0``, after ``Oz``, after ``marked_Oz``, which is
            -Oz with all functions marked for size, and at ``best``. Those of the goal are there. Of
            others, those are left out that the compiler cannot measure.
        tries: The number of evaluated sequences.
        curve: For each improvement, the tries and seconds until then, and the cost.
        pace: The tries and seconds until then, for numbers of tries of at most two digits before
            zeros.
        actions: The best sequence.
        commandline: The command line of ``opt`` that does the same.
        bitcode: The file of the optimised program, once written.
        proof: The comparison with ``opt``: "identical", "DIFFERENT" or :data:`NO_OPT`; empty
            before.
        error: Why the search failed; empty if it did not.
    """

    uri: str
    goal: str = "instructions"
    state: str = "waiting"
    costs: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in COSTS})
    tries: int = 0
    curve: list[tuple[int, float, int]] = field(default_factory=list)
    pace: list[tuple[int, float]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    commandline: str = ""
    bitcode: Path | None = None
    proof: str = ""
    error: str = ""

    def count_try(self, began: float, sequences: int = 1) -> float:
        """Counts evaluated sequences.

        Args:
            began: The time of the beginning, by the monotonic clock.
            sequences: Their number.

        Returns:
            The seconds since the beginning.
        """
        self.tries += sequences
        seconds = round(time.monotonic() - began, 3)
        if len(str(self.tries).rstrip("0")) <= _DIGITS_OF_PACE:
            self.pace.append((self.tries, seconds))
        return seconds

    def fail(self, reason: str) -> None:
        """Notes why the search failed. What was found before is kept."""
        self.state, self.error = "failed", reason

    @property
    def name(self) -> str:
        """The short name of the program."""
        return program_name(self.uri)

    @property
    def ratio(self) -> float | None:
        """The best cost as a share of that of -Oz; None before both are known."""
        return self._ratio_to("Oz")

    @property
    def marked_ratio(self) -> float | None:
        """The same for -Oz with all functions marked for size."""
        return self._ratio_to("marked_Oz")

    def _ratio_to(self, level: str) -> float | None:
        costs = self.costs[self.goal]
        if not {"best", level} <= costs.keys():
            return None
        return cost_ratio(costs["best"], costs[level])

    @property
    def unoptimised(self) -> Path | None:
        """The file of the unoptimised program, once written."""
        return self.bitcode and unoptimised_beside(self.bitcode)


def unoptimised_beside(bitcode: Path) -> Path:
    """Returns the file of a program before the passes, beside that of the result."""
    return bitcode.with_suffix(".input.bc")
