"""Trials of changes on programs, and tables of them.

A table is a folder with a file of JSON lines, one line for each program.

=========== ===========================================================================
trials      The name of the trials, the hash of their content
program     The URI of the program
clang       The version of the compiler
seed        The seed that chose the random changes
features    The features of the program by name
baseline    The result of ``clang -Oz``
changes     Options and passes that were tried. ``kind`` is "portfolio" (an entry of the
            portfolio), "toggle" (its first entry with a part added or removed), "alone"
            (a part) or "random" (a combination of parts)
start       The smallest of these, or the baseline. Functions of that are adjusted
functions   Bytes of its functions
function_features The features of each of these functions; none for those that the baseline
            does not have. Zeros are left out
adjustments By the text of an adjustment: the result with it in all functions, and the
            bytes of each function
decisions   Decisions about calls that LLVM does not make: their features, and what they did to
            the bytes of code and of unwinding of the functions that they change
best        Each function with the adjustment that makes it smallest; missing if none does
error       The reason why there is no result
=========== ===========================================================================

A result is the bytes of ``code``, all bytes that are ``loaded``, and the machine ``instructions``
if they were counted. Changes that clang refused, or crashed with, are missing.
"""

import random
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from typing_extensions import override

from compiler_gym.datasets.selection import opensource_package
from compiler_gym.distributed import json_table
from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, Outcome, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.tuning.size.call_gains import CallFeatures
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation, change_as_json
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.function_gains import function_features
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.moves import groups_of, list_functions, moved
from compiler_gym.tuning.size.object_file import read_object, read_with_instructions
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.ranking import (
    function_adjustments,
    function_properties,
    ir_features,
    object_features,
    shipped_parts,
    shipped_portfolio,
    toggled,
)
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util import llvm_tools

_FORMAT = 1
# The probability that a part of a random change is added or removed.
_MUTATION = 0.25

Row = json_table.Row


@dataclass(frozen=True)
class ProgramTrials(ABC):
    """Trials on one program.

    Attributes:
        program: The URI of the program.
        message: The hash of the message with the bitcode, which is data of the job.
        clang: The version of the compiler.
    """

    program: str
    message: str
    clang: str

    @property
    @abstractmethod
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""

    @abstractmethod
    def run(self, worker: Worker) -> Row:
        """Makes the trials. Returns a row of the table."""

    @classmethod
    def job(cls, program: Program, **settings: Any) -> Job:
        """Returns the trials on a program with its data.

        Args:
            program: The program.
            **settings: The other attributes.
        """
        clang = llvm_tools.tool_version(llvm_tools.clang_path()).partition("\n")[0]
        trials = cls(program.uri, program.message, clang, **settings)
        return Job(trials, {program.message: program.data})


def compilation_for_size(
    contents: bytes, folder: Path, options: tuple[str, ...] = ()
) -> Compilation:
    """Writes a program whose functions are all marked for size, as clang -Oz marks them.

    Args:
        contents: The bitcode.
        folder: The folder of the file.
        options: The options of clang.

    Returns:
        The compilation of the file.
    """
    source = folder / "program.bc"
    add_attributes(contents, source, ("optsize", "minsize"))
    return Compilation(llvm_tools.clang_path(), source, options, llvm_tools.own_passes_path())


@dataclass(frozen=True)
class Trials(ProgramTrials):
    """Trials of changes on one program.

    Attributes:
        seed: Seeds the choice of changes.
        toggles: Number of parts that are added to the first entry of the portfolio or removed from
            it, chosen at random.
        alone: Number of parts that are tried alone, chosen at random.
        combined: Number of random combinations of parts.
        instructions: Whether to count machine instructions, which takes longer.
        most_text: The maximum number of bytes of code. Larger programs get no trials.
        most_groups: The maximum number of groups of decisions about calls.
    """

    seed: int = 0
    toggles: int = 6
    alone: int = 2
    combined: int = 3
    instructions: bool = False
    most_text: int = 20_000
    most_groups: int = 40

    @cached_property
    @override
    def name(self) -> str:
        return name_of({"trials": _FORMAT, **asdict(self)})

    @override
    def run(self, worker: Worker) -> Row:
        """Compiles the program with each change.

        Returns:
            A row of the table, see the top of this module.

        Raises:
            BenchmarkInitError: If the program cannot be compiled.
            ValueError: If its object file cannot be read.
        """
        contents = worker.program(self.message).proto.program.contents
        with (
            tempfile.TemporaryDirectory(prefix="compiler_gym-") as name,
            Evaluator(
                compilation_for_size(contents, Path(name)),
                Path(name),
                Budget(),
                trial=trial_linker(()),
                read=read_with_instructions if self.instructions else read_object,
            ) as evaluator,
        ):
            return self._row(evaluator)

    def _row(self, evaluator: Evaluator) -> Row:
        baseline = evaluator.evaluate_source()
        row: Row = {
            "trials": self.name,
            "program": self.program,
            "clang": self.clang,
            "seed": self.seed,
            "features": object_features(baseline.object, baseline.loaded),
            "baseline": _result(baseline),
            "changes": [],
        }
        if not 0 < baseline.object.text <= self.most_text:
            return row
        properties = function_properties(evaluator.compilation.source)
        row["features"] |= ir_features(properties.values())
        found = []
        for kind, change in self._candidates():
            for each in evaluator.evaluate([change]):
                found.append(each)
                row["changes"].append({"kind": kind, **_facts(each)})
                evaluator.discard(each)
        start = min([baseline, *found], key=lambda it: (it.loaded, it.object.text))
        if evaluator.unit is not None and evaluator.compilation.plugin is not None:
            features = function_features(baseline.object, properties)
            self._adjust_functions(evaluator, start, features, row)
            row["decisions"] = self._decide_calls(evaluator, start, baseline, properties)
        return row

    def _candidates(self) -> list[tuple[str, Change]]:
        """Returns changes of options with their kind, without repetition."""
        rng = random.Random(f"{self.seed} {self.message}")
        known, parts = [each.change for each in shipped_portfolio()], shipped_parts()
        first = known[0]
        listed = [("portfolio", each) for each in known]
        for kind, count in (("toggle", self.toggles), ("alone", self.alone)):
            for part in rng.sample(parts, min(count, len(parts))):
                listed.append((kind, toggled(part, first) if kind == "toggle" else part))
        for _ in range(self.combined):
            drawn = [part for part in parts if rng.random() < _MUTATION]
            listed.append(("random", reduce(lambda it, part: toggled(part, it), drawn, first)))
        kinds: dict[Change, str] = {}
        for kind, change in listed:
            if change != NO_CHANGE:
                kinds.setdefault(change, kind)
        return [(kind, change) for change, kind in kinds.items()]

    def _adjust_functions(
        self,
        evaluator: Evaluator,
        start: Evaluation,
        features: Mapping[str, Mapping[str, float]],
        row: Row,
    ) -> None:
        """Makes each adjustment in all functions, and then the best one in each."""
        numbers = list_functions(evaluator)
        names = [name for name in start.object.functions if name in numbers]
        before = _sizes(start, names)
        row["start"] = _facts(start)
        row["functions"] = before
        row["function_features"] = [_without_zeros(features.get(name, {})) for name in names]
        row["adjustments"] = {}
        best: dict[int, tuple[int, str]] = {}
        for adjustment in function_adjustments():
            change = start.change.adjust({numbers[name]: (adjustment,) for name in names})
            for each in evaluator.evaluate([change]) if names else []:
                after = _sizes(each, names)
                row["adjustments"][adjustment] = {**_result(each), "functions": after}
                for index, (small, large) in enumerate(zip(after, before, strict=True)):
                    least = best.get(index, (large, ""))
                    best[index] = min(least, (small, adjustment))
                evaluator.discard(each)
        chosen = {numbers[names[index]]: (each,) for index, (_, each) in best.items() if each}
        if chosen:
            for each in evaluator.evaluate([start.change.adjust(chosen)]):
                row["best"] = _facts(each)

    def _decide_calls(
        self,
        evaluator: Evaluator,
        start: Evaluation,
        baseline: Evaluation,
        properties: Mapping[str, Mapping[str, int]],
    ) -> list[Row]:
        """Makes decisions about calls, those that change different functions at once."""
        inlining = Inlining(evaluator, list_call_sites(evaluator))
        decided = inlining.decided(start.change)
        features = CallFeatures(inlining, decided, baseline.object, properties)
        decisions = [*inlining.of_callees(decided), *inlining.of_calls(decided)]
        known = {id(move := each.move): (each, move) for each in decisions}
        groups, _ = groups_of([move for _, move in known.values()], self.most_groups)
        before, rows = start.object, []
        for group in groups:
            for found in evaluator.evaluate([moved(start.change, group)]):
                for move in group:
                    rows.append(
                        {
                            "features": _without_zeros(features.of(known[id(move)][0])),
                            "code": -move.saved(before.functions, found.object.functions),
                            "unwinding": -move.saved(before.unwinding, found.object.unwinding),
                        }
                    )
                evaluator.discard(found)
        return rows


def _sizes(evaluation: Evaluation, names: Sequence[str]) -> list[int]:
    """Returns the bytes of each function, with unwinding; 0 for functions that are not there."""
    sizes = Objective.ALL.with_unwinding(evaluation.object)
    return [sizes.get(name, 0) for name in names]


def _without_zeros(features: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in features.items() if value}


def _result(evaluation: Evaluation) -> Row:
    result = {"code": evaluation.object.text, "loaded": evaluation.loaded}
    if evaluation.object.instruction_count is not None:
        result["instructions"] = evaluation.object.instruction_count
    return result


def _facts(evaluation: Evaluation) -> Row:
    return {"change": change_as_json(evaluation.change), **_result(evaluation)}


# Tables of trials, see the top of this file.

FILE = "trials.jsonl"
_KEY = "trials"
_CARD = "README.md"


def rows_of(folder: Path) -> Iterator[Row]:
    """Yields the rows of a table, without those of programs that failed.

    Raises:
        OSError: If there is no table.
        ValueError: If a line other than the last is no row.
    """
    return (row for row in json_table.rows_of(folder / FILE, _KEY) if "error" not in row)


def first_rows(folders: Iterable[Path], has_trials: Callable[[Row], bool]) -> list[Row]:
    """Returns the rows of tables that have trials, each program once, in a fixed order.

    If several tables have the same program, the row of the first counts.

    Raises:
        OSError: If there is no table.
        ValueError: If a line other than the last is no row.
    """
    first: dict[str, Row] = {}
    for row in (row for folder in folders for row in rows_of(folder) if has_trials(row)):
        first.setdefault(row["program"], row)
    return sorted(first.values(), key=lambda row: row["trials"])


def record(
    pool: Pool,
    jobs: Iterable[Job],
    folder: Path,
    watch: Callable[[Outcome | None], None] = lambda _: None,
) -> None:
    """Adds new trials to a table. Ctrl-C keeps the rows so far.

    Args:
        pool: Runs the trials.
        jobs: Trials with their data.
        folder: The folder of the table.
        watch: Called with the outcome of each trial; with None if the table has it.

    Raises:
        BlockingIOError: If another process records to the folder.
        PoolError: If there are no workers.
    """
    json_table.add_rows(pool, jobs, folder / FILE, _KEY, watch)


def trials_in(row: Mapping[str, Any]) -> int:
    """Returns the number of trials in a row."""
    return len(row["changes"]) + len(row.get("adjustments", ()))


def packages_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the packages of ``opensource-v0`` that rows have programs of."""
    uris = (row["program"] for row in rows)
    return sorted({opensource_package(uri) for uri in uris if "//opensource-v0/" in uri})


def write_card(folder: Path, command: str) -> None:
    """Writes a description of the table to ``README.md`` of its folder.

    Args:
        folder: The folder of the table.
        command: The command that made the table.
    """
    rows = [*rows_of(folder)]
    trials = sum(map(trials_in, rows))
    versions = sorted({row["clang"] for row in rows})
    packages = packages_of(rows)
    columns = (__doc__ or "").partition("\n\n")[2]
    (folder / _CARD).write_text(
        f"# Trials of changes that make code smaller\n\n"
        f"Made by `{command}`: {trials} trials on {len(rows)} programs, {len(packages)} packages "
        f"({', '.join(packages)}). Compiler: {', '.join(versions)}.\n\n{columns}",
        encoding="utf-8",
    )
