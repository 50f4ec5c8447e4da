"""Trials of changes on one program, as a task of a pool."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.tuning.size.decisions import change_as_json
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.features import ir_features, object_features
from compiler_gym.tuning.size.functions import list_functions
from compiler_gym.tuning.size.instructions import read_with_instructions
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.portfolio import (
    shipped_parts,
    shipped_portfolio,
    skippable_passes,
    toggled,
)
from compiler_gym.tuning.size.trial_link import trial_linker

_FORMAT = 1
_MARKS = ("optsize", "minsize")
# Each part of a random change comes or goes with this probability.
_MUTATION = 0.25

Row = dict[str, Any]


@dataclass(frozen=True)
class Trials:
    """Trials of changes on one program.

    Attributes:
        program: The URI of the program.
        message: The hash of the message with the bitcode, which is data of the job.
        clang: The version of the compiler.
        seed: Seeds the choice of changes.
        toggles: Number of parts that are added to the first entry of the portfolio or removed from
            it, chosen at random.
        alone: Number of parts that are tried alone, chosen at random.
        combined: Number of random combinations of parts.
        instructions: Whether to count machine instructions, which takes longer.
        most_text: The most bytes of code; larger programs get no trials.
    """

    program: str
    message: str
    clang: str
    seed: int = 0
    toggles: int = 6
    alone: int = 2
    combined: int = 3
    instructions: bool = False
    most_text: int = 20_000

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"trials": _FORMAT, **asdict(self)})

    @classmethod
    def job(cls, program: Program, **settings: Any) -> Job:
        """Returns the trials on a program with its data.

        Args:
            program: The program.
            **settings: The other attributes.
        """
        clang = tools.tool_version(tools.clang_path()).partition("\n")[0]
        trials = cls(program.uri, program.message, clang, **settings)
        return Job(trials, {program.message: program.data})

    def run(self, worker: Worker) -> Row:
        """Compiles the program with each change.

        Returns:
            A row of the table, see :mod:`compiler_gym.tuning.changes.table`.

        Raises:
            BenchmarkInitError: If the program cannot be compiled.
            ValueError: If its object file cannot be read.
        """
        contents = worker.program(self.message).proto.program.contents
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            source = Path(name) / "program.bc"
            add_attributes(contents, source, _MARKS)
            compilation = Compilation(tools.clang_path(), source, (), tools.own_passes_path())
            with Evaluator(
                compilation,
                Path(name),
                Budget(),
                trial=trial_linker(()),
                read=read_with_instructions if self.instructions else read_object,
            ) as evaluator:
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
        row["features"] |= ir_features(evaluator.compilation.source)
        found = []
        for kind, change in self._candidates():
            for each in evaluator.evaluate([change]):
                found.append(each)
                row["changes"].append({"kind": kind, **_facts(each)})
                evaluator.discard(each)
        start = min([baseline, *found], key=lambda it: (it.loaded, it.object.text))
        if evaluator.unit is not None and evaluator.compilation.plugin is not None:
            self._leave_out_passes(evaluator, start, row)
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

    def _leave_out_passes(self, evaluator: Evaluator, start: Evaluation, row: Row) -> None:
        """Leaves each pass out of all functions, and then out of those that it makes larger."""
        numbers = list_functions(evaluator)
        names = [name for name in start.object.functions if name in numbers]
        before = _sizes(start, names)
        row["start"] = _facts(start)
        row["functions"] = before
        row["skips"] = {}
        best: dict[int, tuple[int, str]] = {}
        for skipped in skippable_passes():
            change = start.change.skip({numbers[name]: skipped for name in names})
            for each in evaluator.evaluate([change]) if names else []:
                after = _sizes(each, names)
                row["skips"][skipped] = {**_result(each), "functions": after}
                for index, (small, large) in enumerate(zip(after, before, strict=True)):
                    least = best.get(index, (large, ""))
                    best[index] = min(least, (small, skipped))
                evaluator.discard(each)
        chosen = {numbers[names[index]]: skipped for index, (_, skipped) in best.items() if skipped}
        if chosen:
            for each in evaluator.evaluate([start.change.skip(chosen)]):
                row["best"] = _facts(each)


def _sizes(evaluation: Evaluation, names: Sequence[str]) -> list[int]:
    """Returns bytes by function; those that a change removed have none."""
    return [evaluation.object.functions.get(name, 0) for name in names]


def _result(evaluation: Evaluation) -> Row:
    result = {"code": evaluation.object.text, "loaded": evaluation.loaded}
    if evaluation.object.instruction_count is not None:
        result["instructions"] = evaluation.object.instruction_count
    return result


def _facts(evaluation: Evaluation) -> Row:
    return {"change": change_as_json(evaluation.change), **_result(evaluation)}
