"""The objective of smaller code than that of ``clang -Oz``."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.mine.decisions import (
    Decision,
    Effect,
    Saving,
    Tools,
    known_decisions,
    measure,
    scan,
)
from compiler_gym.mine.objective import Objective, Trial, Verdict
from compiler_gym.mine.scripts import fill_script
from compiler_gym.util import llvm_tools as llvm

# Reducing larger functions takes longer than a look at the next one.
_MAX_FUNCTION_BYTES = 2000

_SCRIPT = """\
{head}
# Exit code 0: the decision saves {least} bytes or more. Another LLVM: CLANG=... OPT=... {name}
set -o pipefail
clang=${CLANG:-{clang}}
opt=${OPT:-{opt}}
size=${SIZE:-{size}}
{start}
{guard}{baseline} 2>/dev/null || exit 1
{decision} 2>/dev/null || exit 1
bytes() { "$size" "$1" | awk 'END { print $1 + $2 }'; }
before=$(bytes before.o) after=$(bytes after.o)
[ -n "$QUIET" ] || echo "clang {level}: $before bytes; {title}: $after bytes"
# Less than this is no function.
[ "$after" -ge 4 ] && [ $((before - after)) -ge {least} ]
"""


@dataclass(frozen=True)
class Size(Objective):
    """The bytes of a function, as ``clang -Oz`` makes it."""

    name = "size"
    level = "-Oz"
    unit = "bytes"
    claim = "clang -Oz makes"
    total = "bytes of code"
    gain = "smaller functions"
    heading = "Decisions that make functions smaller than clang -Oz"
    least = 4
    findings = "findings"
    show_command = "llvm-size before.o after.o"
    removed_attributes = ("uwtable",)  # Unwind tables would be counted.
    kept_attributes = ("minsize", "optsize")
    fixed_parts = ()
    has_entry = False
    has_vectors = False

    def known_decisions(self) -> list[Decision]:
        """Returns the decisions that are tried."""
        return known_decisions()

    def check_machine(self) -> None:
        """Checks nothing: any machine can compile."""

    def digest_parts(self) -> tuple[str, ...]:
        """Returns nothing, so that folders of older versions continue."""
        return ()

    def scan(
        self,
        unit: Path,
        decisions: Sequence[Decision],
        least: int,
        tools: Tools,
        is_over: Callable[[], bool],
    ) -> tuple[int, list[Effect]]:
        """Measures a program with each decision alone."""
        before, effects = scan(unit, decisions, unit.parent, tools)
        return before.text, effects

    def is_promising(self, saving: Saving, least: int) -> bool:
        """Returns whether a function is to be reduced."""
        return saving.saved >= least and saving.before <= _MAX_FUNCTION_BYTES

    def saving_of(self, before: int, after: int) -> int:
        """Returns the bytes saved."""
        return before - after

    def prepare(self, trial: Trial) -> Mapping[str, str]:
        """Returns no variables: the script needs none."""
        return {}

    def script(self, trial: Trial, is_guarded: bool) -> str:
        """Returns the script that tells whether a decision makes a module smaller."""
        size = shlex.quote(str(llvm.llvm_size_path()))
        outputs = ("before.o", "after.o")
        return fill_script(_SCRIPT, trial, is_guarded, "-c", outputs, {"size": size})

    def files(self, module: str, function: str) -> Mapping[str, str]:
        """Returns nothing: the script needs only the module."""
        return {}

    def compare(self, trial: Trial) -> tuple[int | None, int | None]:
        """Returns the bytes without and with the decision; None where it does not compile."""
        before, after = (
            measure(each, trial.module, trial.folder, trial.tools)
            for each in (None, trial.decision)
        )
        return before.all if before else None, after.all if after else None

    def check(self, trial: Trial) -> Verdict:
        """Makes no further checks."""
        return Verdict()

    def columns(self, checks: Mapping[str, str]) -> dict[str, str]:
        """Returns no further columns."""
        return {}


SIZE = Size()
