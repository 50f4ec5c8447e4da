"""Trials for the model of the plugin that makes one run of clang smaller.

The plugin has no object file of a former run. So the features are those that it computes itself,
and each adjustment is tried on top of ``clang -Oz`` alone. A table of these trials is a folder with
a file of JSON lines, one line for each program.

=========== ===========================================================================
trials      The name of the trials, the hash of their content
program     The URI of the program
clang       The version of the compiler
baseline    Bytes of ``code`` and all ``loaded`` bytes of ``clang -Oz``
functions   By function: bytes of its code with what LLVM outlines from it, and of its entry in
            ``.eh_frame``, with an adjustment that has no effect
start       By function: its features before any pass
end         By function: its features before machine code is generated
calls       By called function: the features of its calls
adjustments By the text of an adjustment: ``functions`` with it in all functions. Functions that
            stay as they are, are left out
decisions   Decisions about all calls of a function: ``function``, ``inline``, and the bytes of
            ``code`` and ``unwinding`` that they add to the functions that they change
error       The reason why there is no result
=========== ===========================================================================
"""

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from typing_extensions import override

from compiler_gym.distributed import json_table
from compiler_gym.distributed.task import name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.tuning.changes.trials import ProgramTrials, compilation_for_size, first_rows
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.moves import groups_of, list_functions, moved
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.one_run import one_run_options
from compiler_gym.tuning.size.outlined import OUTLINED
from compiler_gym.util.commands import run_command

_FORMAT = 2
_LIST_SECONDS = 600
# The name of no pass.
_NO_PASS = "nothing"

# -enable-pre=0 is not among them: it cannot be set for single functions, see FunctionSettings.
START = (
    "-indvars-widen-indvars=0", "licm", "gvn", "instsimplify", "-scev-cheap-expansion-budget=1",
    "reassociate", "slp-vectorizer", "indvars", "-phi-node-folding-threshold=1",
    "-two-entry-phi-node-folding-threshold=1", "-max-speculation-depth=1",
)  # fmt: skip
"""Adjustments of functions before any pass."""

END = (
    "frame-pointer=all", "machinelicm+early-machinelicm", "-aggressive-machine-cse",
    "x86-execution-domain-fix", "block-placement", "partially-inline-libcalls", "machine-sink",
    "machine-cse", "shrink-wrap", "post-RA-sched", "consthoist", "-enable-misched=0",
    "-regalloc-csr-first-time-cost=16384", "-grow-region-complexity-budget=0",
)  # fmt: skip
"""Adjustments of functions before machine code is generated."""

WHOLE = ("-disable-lsr", "-lsr-drop-solution")
"""Options of LLVM for all functions of a source."""

_X86_ALONE = ("frame-pointer=all", "x86-execution-domain-fix", "partially-inline-libcalls")
_OTHERS_ALONE = (
    "reassociate", "slp-vectorizer", "shrink-wrap", "post-RA-sched", "consthoist",
    "-enable-misched=0", "-regalloc-csr-first-time-cost=16384", "indvars",
    "-phi-node-folding-threshold=1", "-two-entry-phi-node-folding-threshold=1",
    "-max-speculation-depth=1", "-grow-region-complexity-budget=0",
)  # fmt: skip


def adjustments_for(target: str) -> tuple[str, ...]:
    """Returns the adjustments to try for a target."""
    without = _OTHERS_ALONE if target == "x86_64" else _X86_ALONE
    return tuple(each for each in (*START, *END, *WHOLE) if each not in without)


Row = json_table.Row


@dataclass(frozen=True)
class OneRunTrials(ProgramTrials):
    """Trials of single adjustments and decisions about calls on one program.

    Attributes:
        adjustments: The adjustments to try.
        most_text: The maximum number of bytes of code. Larger programs get no trials.
        most_groups: The maximum number of groups of decisions about calls.
        options: The options of clang that choose the target.
    """

    adjustments: tuple[str, ...] = adjustments_for("x86_64")
    options: tuple[str, ...] = ()
    most_text: int = 20_000
    most_groups: int = 6

    @cached_property
    @override
    def name(self) -> str:
        return name_of({"one run": _FORMAT, **asdict(self)})

    @override
    def run(self, worker: Worker) -> Row:
        """Compiles the program with each adjustment.

        Returns:
            A row of the table, see the top of this module.

        Raises:
            BenchmarkInitError: If the program cannot be compiled.
            ValueError: If its object file cannot be read.
        """
        contents = worker.program(self.message).proto.program.contents
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            compilation = compilation_for_size(contents, Path(name), self.options)
            with Evaluator(compilation, Path(name), Budget()) as evaluator:
                return self._row(evaluator)

    def _row(self, evaluator: Evaluator) -> Row:
        baseline = evaluator.evaluate_source()
        row: Row = {
            "trials": self.name,
            "program": self.program,
            "clang": self.clang,
            "baseline": {"code": baseline.object.text, "loaded": baseline.loaded},
        }
        if 0 < baseline.object.text <= self.most_text and evaluator.unit is not None:
            row["functions"] = self._functions(evaluator)
            row |= listed_features(evaluator)
            row["adjustments"] = self._adjust_functions(evaluator, row["functions"])
            row["decisions"] = []
            if self.most_groups:
                row["decisions"] = self._decide_calls(evaluator, baseline, row["calls"])
        return row

    @staticmethod
    def _functions(evaluator: Evaluator) -> dict[str, list[int]]:
        """Returns the bytes of functions with an adjustment that has no effect.

        Changes keep weak symbols, as the plugin does not. Then the machine outliner takes code out
        of more functions, which is no gain of an adjustment.
        """
        numbers = list_functions(evaluator).values()
        (found,) = evaluator.evaluate([NO_CHANGE.adjust({each: (_NO_PASS,) for each in numbers})])
        sizes = _sizes(found)
        evaluator.discard(found)
        return sizes

    def _adjust_functions(
        self, evaluator: Evaluator, before: Mapping[str, list[int]]
    ) -> dict[str, Any]:
        """Makes each adjustment in all functions."""
        numbers = list_functions(evaluator)
        found = {}
        for adjustment in self.adjustments:
            texts = tuple(adjustment.split("+"))
            change = NO_CHANGE.adjust({number: texts for number in numbers.values()})
            if adjustment in WHOLE:
                change = Change(options=(adjustment,))
            for each in evaluator.evaluate([change]):
                after = _sizes(each)
                found[adjustment] = {
                    name: after.get(name, [0, 0])
                    for name in {**before, **after}
                    if after.get(name) != before.get(name)
                }
                evaluator.discard(each)
        return found

    def _decide_calls(
        self, evaluator: Evaluator, start: Evaluation, known: Mapping[str, Any]
    ) -> list[Row]:
        """Makes decisions about all calls of functions, those of different ones at once."""
        inlining = Inlining(evaluator, list_call_sites(evaluator))
        decisions = [
            each
            for each in inlining.of_callees(inlining.decided(NO_CHANGE))
            if each.callee in known and (not each.inline or known[each.callee].get("local"))
        ]
        moves = [each.move for each in decisions]
        of_move = {id(move): each for move, each in zip(moves, decisions, strict=True)}
        groups, _ = groups_of(moves, self.most_groups)
        before, rows = start.object, []
        for group in groups:
            for found in evaluator.evaluate([moved(NO_CHANGE, group)]):
                for move in group:
                    decision = of_move[id(move)]
                    rows.append(
                        {
                            "function": decision.callee,
                            "inline": decision.inline,
                            "code": -move.saved(before.functions, found.object.functions),
                            "unwinding": -move.saved(before.unwinding, found.object.unwinding),
                        }
                    )
                evaluator.discard(found)
        return rows


def listed_features(evaluator: Evaluator) -> dict[str, dict[str, dict[str, float]]]:
    """Returns the features that the plugin computes, by kind and function."""
    command = [*evaluator.command(NO_CHANGE, Path("/dev/null")), *one_run_options("-oz-list")]
    found: dict[str, dict[str, dict[str, float]]] = {"start": {}, "end": {}, "calls": {}}
    for line in run_command(command, _LIST_SECONDS).stdout.splitlines():
        each = json.loads(line)
        found[each["point"]][each["function"]] = each["features"]
    return found


def _sizes(evaluation: Evaluation) -> dict[str, list[int]]:
    """Returns the bytes of code and of unwinding of each function.

    Code that LLVM outlines is part of the functions that enter it.
    """
    found = evaluation.object
    return {
        name: [size, found.unwinding.get(name, 0)]
        for name, size in Objective.TEXT.with_unwinding(found).items()
        if not name.startswith(OUTLINED)
    }


def rows_of_one_run(folders: Iterable[Path]) -> list[Row]:
    """Returns the rows of tables that have trials, see :func:`first_rows`."""
    return first_rows(folders, lambda row: "adjustments" in row)
