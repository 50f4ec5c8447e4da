"""One program of ``compiler-gym optimize --objective runtime``."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.cli.console import messages, print_line, print_table
from compiler_gym.cli.optimize_program import (
    NOT_REPEATED,
    Product,
    Progress,
    Settings,
    experimental_notes,
)
from compiler_gym.tuning.size.compilation import change_as_json, has_level
from compiler_gym.tuning.size.evaluator import Evaluator
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.product import reproduces, write_object
from compiler_gym.tuning.size.ranking import experimental_options
from compiler_gym.tuning.speed.hot_parts import profiles_of
from compiler_gym.tuning.speed.optimizer import SpeedOptimizer
from compiler_gym.tuning.speed.profile import counts_path, trained_path
from compiler_gym.tuning.speed.workload import CommandWorkload, ProgramWorkload, Workload
from compiler_gym.util.shell_format import plural
from compiler_gym.util.statistics import RuntimeComparison

LEVEL = "-O3"
"""The level to begin with, unless the user has one."""

# In shorter runs, starting the program takes much of the time.
_SHORT_SECONDS = 0.005


@dataclass(frozen=True, kw_only=True)
class SpeedResult(Product):
    """The result of optimising a program for speed.

    Attributes:
        search: The search, at its end.
    """

    search: SpeedOptimizer

    @property
    def is_faster(self) -> bool:
        """True if the search has found a significantly faster object file."""
        return self.search.best is not self.search.baseline

    def as_json(self) -> dict[str, Any]:
        """Returns the result for JSON, with times in seconds."""
        search = self.search
        before, after = search.baseline.evaluation.object, search.best.evaluation.object
        comparison = search.comparison
        return super().as_json() | {
            "objective": "runtime",
            "level": search.evaluator.compilation.level,
            "faster": self.is_faster,
            "speedup": comparison.speedup if comparison and self.is_faster else 1.0,
            "comparison": comparison and asdict(comparison),
            "runs": {"before": search.seconds[0], "after": search.seconds[1]},
            "run_seconds": search.run_seconds,
            "before": {"text": before.text, "all": before.all},
            "after": {"text": after.text, "all": after.all},
            "evaluations": search.evaluator.budget.used,
            "failed_evaluations": search.evaluator.failed,
            "from_bitcode": search.evaluator.unit is not None,
            "stages": [asdict(each) for each in search.stages],
            "wrong": [each.why for each in search.wrong],
            "options": [*search.best.change.options],
            "change": change_as_json(search.best.change),
            "experimental": experimental_options(search.best.change),
        }


def speed_options(options: Sequence[str]) -> list[str]:
    """Returns options of clang with a level of optimisation."""
    return [*options] if has_level(options) else [LEVEL, *options]


def workload_of(program: Input, run: str | None, linker: Linker) -> Workload:
    """Returns the workload for measuring a program.

    Args:
        program: The program.
        run: A command that runs the program, see :class:`CommandWorkload`.
        linker: Links the object file for that command.

    Raises:
        ValueError: If there is no command to run it.
    """
    if run is not None:
        return CommandWorkload(run, linker)
    if program.validator is None:
        raise ValueError(
            f"There is nothing to measure {program.path} with. Name a command that runs it with "
            "--run, as --run '{} < input.txt': {} stands for the program, and what it prints must "
            "be the same each time. Programs of kernels-v0 and programs-v0 have inputs of their own"
        )
    return ProgramWorkload(program.validator)


def optimize_speed(
    program: Input, target: Path, settings: Settings, workload: Workload
) -> SpeedResult:
    """Searches for a faster object file of a program, and writes it.

    Raises:
        BenchmarkInitError: If it does not compile.
        Exception: Any error of :class:`SpeedOptimizer`, or of writing a file.
    """
    compilation = settings.compilation_of(program.path)
    # Workloads of built-in programs check their output.
    known = None if isinstance(workload, ProgramWorkload) else program.check
    with _profiles(target) as needed, tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        budget = settings.budget_of(program.path)
        with (
            Evaluator(compilation, Path(folder), budget, settings.jobs) as evaluator,
            Progress(target.name, settings.is_quiet) as progress,
        ):
            search = SpeedOptimizer(
                evaluator,
                workload,
                settings.check or known,
                with_experimental=settings.with_experimental,
                target=target,
                watch=lambda search: progress.show(_progress(search, target.name)),
            )
            is_finished = _run(search)
            seconds = budget.passed
        best = search.best.evaluation
        write_object(best, target)
        is_repeatable = reproduces(compilation, best)
        needed.extend(profiles_of(best.change, target))
    return SpeedResult(
        program=program,
        target=target,
        search=search,
        seconds=seconds,
        is_finished=is_finished,
        summary=_summary(search, target),
        command=compilation.command(target, best.change),
        is_repeatable=is_repeatable,
    )


@contextmanager
def _profiles(target: Path) -> Iterator[list[Path]]:
    """Removes the profiles of a search after the block, except for those in the list."""
    needed: list[Path] = []
    try:
        yield needed
    finally:
        for path in (counts_path(target), trained_path(target)):
            if path not in needed:
                path.unlink(missing_ok=True)


def _run(search: SpeedOptimizer) -> bool:
    """Searches. Returns False if Ctrl-C ended the search after a first result."""
    search.start()
    sys.stderr.write(search.evaluator.messages)  # Warnings of clang.
    is_finished = True
    try:
        search.run()
    except KeyboardInterrupt:
        is_finished = False
        if search.leading is not search.baseline:
            messages().print("Runs to see if it is really faster. Ctrl-C again does without.")
    try:
        search.prove(is_hurried=not is_finished)
    except KeyboardInterrupt:
        is_finished = False
    return is_finished


def _progress(search: SpeedOptimizer, name: str) -> str:
    budget = search.evaluator.budget
    level = search.evaluator.compilation.level
    seems = f"seems {_faster(search.estimate)} than" if search.estimate > 1 else "as fast as"
    done, wanted = search.pairs
    count = f"pair {done} of {wanted}" if wanted else plural(budget.used, "evaluation")
    return f"{name}: {seems} clang {level}; {search.stage}, {count}, {budget.passed:.0f} s"


def _faster(speedup: float) -> str:
    return f"{speedup - 1:.1%} faster"


def _interval(comparison: RuntimeComparison) -> str:
    return f"{comparison.speedup:.3f} times as fast ({comparison.low:.3f} to {comparison.high:.3f})"


def _summary(search: SpeedOptimizer, target: Path) -> str:
    level = search.evaluator.compilation.level
    comparison = search.comparison
    if comparison is not None and search.best is not search.baseline:
        return f"{target}: {_faster(comparison.speedup)} than what clang {level} makes"
    return (
        f"{target}: nothing found that is significantly faster than what clang {level} makes, "
        "which it is"
    )


def print_speed_report(result: SpeedResult) -> None:
    """Prints the report about a program."""
    search = result.search
    print_line(result.summary)
    _print_proof(result)
    if not result.is_finished:
        print_line("Ctrl-C ended the search.")
    if search.stages:
        print_line()
        print_table(
            {
                "stage": each.name,
                "evaluations": each.evaluations,
                "seconds": f"{each.seconds:.1f}",
                "seemed": _faster(each.estimate) if each.estimate > 1 else "no faster",
            }
            for each in search.stages
        )
    if doubts := [*_doubts(result)]:
        print_line()
        for line in doubts:
            print_line(line)
    result.print_origin()


def _print_proof(result: SpeedResult) -> None:
    """Prints the result of the deciding runs."""
    search = result.search
    comparison = search.comparison
    if comparison is None:
        return
    before, after = (float(np.median(each)) for each in search.seconds)
    what = "It" if result.is_faster else "The fastest that was tried"
    print_line(
        f"{what} is {_interval(comparison)}, with {comparison.confidence:.0%} confidence: "
        f"{before:.4g} and {after:.4g} s of processor time, medians of "
        f"{plural(len(search.seconds[0]), 'run')} each, in turns, after the search. The chance of "
        f"such a difference without a reason is {comparison.p_value:.2g}."
    )


def _doubts(result: SpeedResult) -> Iterator[str]:
    """Yields warnings about the use of the object file."""
    search = result.search
    before, after = search.baseline.evaluation.object, search.best.evaluation.object
    if result.is_faster:
        yield "Checked: it prints what it should."
        yield f"Its code has {after.text} bytes, where clang makes {before.text}."
        for path in profiles_of(search.best.change, result.target):
            yield f"The command below needs {path}, a profile of the runs. Keep it."
    yield from experimental_notes(search.best.change)
    if search.run_seconds < _SHORT_SECONDS:
        yield (
            f"A run takes {1000 * search.run_seconds:.2g} ms, of which much is to start the "
            "program: give it more to do."
        )
    if search.wrong:
        count = plural(len(search.wrong), "result")
        yield f"{count} did not work, the first: {search.wrong[0].why}"
    if search.evaluator.failed:
        yield f"clang failed in {plural(search.evaluator.failed, 'evaluation')}."
    if not result.is_repeatable:
        yield NOT_REPEATED


def print_speed_summary(results: Sequence[SpeedResult]) -> None:
    """Prints a row for each of several programs."""
    rows = []
    for each in results:
        comparison = each.search.comparison if each.is_faster else None
        rows.append(
            {
                "object file": each.target.name,
                "speedup": f"{comparison.speedup:.3f}" if comparison else "1",
                "low": f"{comparison.low:.3f}" if comparison else "",
                "high": f"{comparison.high:.3f}" if comparison else "",
                "tries": each.search.evaluator.budget.used,
                "seconds": f"{each.seconds:.0f}",
            }
        )
    level = results[0].search.evaluator.compilation.level
    print_table(rows, f"How much faster than clang {level}, with 95% confidence")
    faster = sum(each.is_faster for each in results)
    print_line(
        f"\n{faster} of {len(results)} are significantly faster than those of clang {level}; the "
        "others are those."
    )
    if not results[-1].is_finished:
        print_line("Ctrl-C ended the search.")
