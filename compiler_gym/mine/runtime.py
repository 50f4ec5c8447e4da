"""The objective of faster code than that of ``clang -O3``: fewer executed instructions.

Times are too noisy for a reducer, which would follow the noise. So findings are functions that
execute fewer machine instructions for the same random inputs, which is exact. The time is measured
at the end, and findings that take longer do not count.
"""

import platform
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.mine.checks import RUN_LIMITS, defined_functions, reference_results
from compiler_gym.mine.counting import COUNTER, HARNESS_OPTIONS, Counter
from compiler_gym.mine.decisions import Decision, Effect, Saving, Tools, known_speed_decisions
from compiler_gym.mine.harness import (
    ENTRY,
    HARNESS,
    INPUTS,
    MIN_INPUTS,
    NoHarnessError,
    write_harness,
)
from compiler_gym.mine.objective import Objective, Trial, Verdict
from compiler_gym.mine.reduction import extract
from compiler_gym.mine.scripts import fill_script
from compiler_gym.util import llvm_tools as llvm
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.confinement import confining_program

_MACHINES = ("x86_64", "amd64")
_SECONDS = 120

_SCRIPT = """\
{head}
# Exit code 0: the decision saves {least} % of the executed instructions or more, and one in each
# call. Another LLVM: CLANG=... OPT=... {name}. The function runs with your rights, or without any:
# CONFINE=.../compiler_gym-confine {name}
set -o pipefail
clang=${CLANG:-{clang}}
opt=${OPT:-{opt}}
inputs=${INPUTS:-$(seq 0 {last})}
harness=$(realpath "${HARNESS:-$(dirname "$0")/{harness}}") || exit 1
{start}
{guard}{baseline} 2>/dev/null || exit 1
{decision} 2>/dev/null || exit 1
[ -n "$QUIET" ] && cmp -s before.s after.s && exit 1
# Counts instructions, by a macro before each. Prints a line for each input: number, digest, count.
count() {
  {
    cat <<'END'
{counter}
END
    sed 's/^\\t[a-z]/\\tcount_instruction\\n&/' "$1.s"
    printf '.globl {entry}\\n.set {entry}, {function}\\n'
  } >"$1.counted.s"
  "$clang" {options} "$1.counted.s" "$harness" -lm -o "$1" 2>/dev/null || return 1
  if [ -n "$CONFINE" ]; then
    # A folder of its own: it could leave links in place of the files that are written next.
    mkdir run || return 1
    "$CONFINE" --folder="$PWD/run" --read="$PWD/$1" {limits} -- "$PWD/$1" 0 $inputs >"$1.txt"
    rm -rf run
  else
    "./$1" 0 $inputs >"$1.txt"
  fi
}
count before || exit 1
count after || exit 1
# Other lines are about inputs for which the function does not come to its end, or its own output.
awk -v quiet="$QUIET" '
  NF != 3 || length($2) != 16 { next }
  NR == FNR { digest[$1] = $2; count[$1] = $3; next }
  $1 in digest {
    if (digest[$1] != $2) differs = 1
    inputs++; before += count[$1]; after += $3
  }
  END {
    if (!quiet) printf "clang {level}: %d instructions; {title}: %d; %d inputs%s\\n", before, after,
      inputs, differs ? ", and other results" : ""
    saved = before - after
    exit differs || inputs < {least_inputs} || saved < inputs || saved * 100 < {least} * before
  }' before.txt after.txt
"""


@dataclass(frozen=True)
class Runtime(Objective):
    """The machine instructions that a function executes, as ``clang -O3`` makes it."""

    name = "runtime"
    level = "-O3"
    unit = "instructions"
    claim = "The code of clang -O3 executes"
    total = "executed instructions"
    gain = "functions that execute fewer instructions"
    heading = "Decisions with which functions execute fewer instructions than with clang -O3"
    least = 5
    findings = "findings-runtime"
    show_command = "./check.sh"
    removed_attributes = ("uwtable", "minsize", "optsize")
    kept_attributes = ()
    # The harness is compiled once, so the parameters and the result have to stay.
    fixed_parts = (
        "arguments",
        "operands-to-args",
        "arguments-to-return",
        "instructions-to-return",
    )
    has_entry = True
    has_vectors = True

    def known_decisions(self) -> list[Decision]:
        """Returns the decisions that are tried."""
        return known_speed_decisions()

    def check_machine(self) -> None:
        """Checks that this is an x86-64 machine."""
        machine = platform.machine()
        if machine.lower() not in _MACHINES:
            raise EnvironmentNotSupported(
                f"expected an x86-64 machine, whose instructions can be counted, got {machine}; "
                "try --objective size"
            )

    def digest_parts(self) -> tuple[str, ...]:
        """Returns the name, and the parts of the measurement that may change."""
        return self.name, COUNTER, str(INPUTS)

    def scan(
        self,
        unit: Path,
        decisions: Sequence[Decision],
        least: int,
        tools: Tools,
        is_over: Callable[[], bool],
    ) -> tuple[int, list[Effect]]:
        """Measures each function of a program that can be called, with each decision alone."""
        total = 0
        net: dict[Decision, int] = defaultdict(int)
        savings: dict[Decision, list[Saving]] = defaultdict(list)
        for function in _functions(unit):
            counter = None if is_over() else self._counter(unit, function, tools)
            if counter is None:
                continue
            total += counter.total
            for decision in takewhile(lambda _: not is_over(), decisions):
                pair = counter.compare(decision)
                if pair is not None and pair.is_equal:
                    net[decision] += pair.saved
                    if pair.is_enough(least):
                        savings[decision].append(Saving(function, pair.before, pair.after))
        effects = [
            Effect(each, net[each], tuple(sorted(found, key=_rank)))
            for each, found in savings.items()
        ]
        return total, effects

    def _counter(self, unit: Path, function: str, tools: Tools) -> Counter | None:
        """Takes a function out of a program, with all that it calls or, if need be, alone.

        Returns:
            Its counter; None if it cannot be called, or only for few of the random inputs.
        """
        for more in (("--recursive",), ()):
            module = extract(unit, function, more, unit.parent, self)
            if module is not None:
                counter = Counter.of(module, function, unit.parent, tools)
                if counter is not None:
                    return counter
        return None

    def is_promising(self, saving: Saving, least: int) -> bool:
        """Returns whether a function is to be reduced."""
        return self.saving_of(saving.before, saving.after) >= least

    def saving_of(self, before: int, after: int) -> int:
        """Returns the percentage of instructions saved."""
        return (before - after) * 100 // before

    def prepare(self, trial: Trial) -> Mapping[str, str] | None:
        """Compiles the harness, and finds the inputs for which the function comes to its end."""
        counter = Counter.of(trial.module, trial.function, trial.folder, trial.tools)
        if counter is None:
            return None
        return {
            "HARNESS": str(counter.harness),
            "INPUTS": " ".join(counter.baseline.steps),
            "CONFINE": str(confining_program()),
        }

    def script(self, trial: Trial, is_guarded: bool) -> str:
        """Returns the script that tells whether a decision saves instructions."""
        more = {
            "harness": HARNESS,
            "last": str(INPUTS - 1),
            "least_inputs": str(MIN_INPUTS),
            "counter": COUNTER,
            "options": " ".join(HARNESS_OPTIONS),
            "entry": ENTRY,
            "function": trial.function,
            "limits": " ".join(RUN_LIMITS.arguments()),
        }
        return fill_script(_SCRIPT, trial, is_guarded, "-S", ("before.s", "after.s"), more)

    def files(self, module: str, function: str) -> Mapping[str, str]:
        """Returns the harness."""
        return {HARNESS: write_harness(module, function)}

    def compare(self, trial: Trial) -> tuple[int | None, int | None]:
        """Returns the instructions without and with the decision; None where it does not run."""
        counter = Counter.of(trial.module, trial.function, trial.folder, trial.tools)
        if counter is None:
            return None, None
        pair = counter.compare(trial.decision)
        return (pair.before, pair.after) if pair else (counter.total, None)

    def check(self, trial: Trial) -> Verdict:
        """Counts again for inputs that are defined, and measures the time."""
        counter = Counter.of(trial.module, trial.function, trial.folder, trial.tools)
        if counter is None:
            return Verdict("it comes to its end for too few random inputs")
        try:
            expected, _ = reference_results(trial.module, trial.function, trial.folder)
        except (NoHarnessError, CommandError, subprocess.TimeoutExpired) as error:
            return Verdict(f"the function without passes does not run: {error}")
        defined = [number for number, each in expected.items() if each.is_defined]
        pair = counter.compare(trial.decision, defined)
        if pair is None:
            return Verdict("it does not run with the decision")
        counts = f"{pair.before} → {pair.after} for {len(pair.inputs)} defined inputs"
        if not pair.is_enough(trial.least):
            return Verdict(f"fewer instructions only for inputs that are not defined: {counts}")
        time = counter.compare_times(trial.decision, pair.inputs)
        checks = {"instructions": counts, "time": time}
        if time.startswith("slower"):
            return Verdict(f"fewer instructions, but {time}", checks)
        return Verdict("", checks)

    def columns(self, checks: Mapping[str, str]) -> dict[str, str]:
        """Returns the column for the time."""
        return {"time": checks.get("time", "").partition(" (")[0].removeprefix("measured: ")}


def _rank(saving: Saving) -> tuple[int, str]:
    return -saving.saved, saving.function


def _functions(unit: Path) -> list[str]:
    """Returns the functions that a program defines, but ``main``: its arguments are not random.

    Raises:
        ValueError: If LLVM cannot read it.
    """
    try:
        done = run_command([llvm.opt_path(), "-S", unit, "-o", "-"], _SECONDS)
    except (CommandError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"{unit.name} cannot be read: {error}") from error
    return [each for each in defined_functions(done.stdout) if each != "main"]


RUNTIME = Runtime()
