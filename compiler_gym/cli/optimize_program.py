"""One program of ``compiler-gym optimize``: the search for a small object file, and its result."""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler_gym.cli.console import messages, print_line
from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.image import estimate_changed_cycles
from compiler_gym.tuning.size.inputs import Check, Input, all_of
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.memory import Memory, open_memory
from compiler_gym.tuning.size.memory_regions import MemoryUse, region_rows
from compiler_gym.tuning.size.minimise import ENDS
from compiler_gym.tuning.size.object_file import (
    FunctionChange,
    ObjectFile,
    StackUse,
    compare_functions,
    stack_use,
)
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.product import reproduces, write_object
from compiler_gym.tuning.size.ranking import experimental_options, shipped_ranking
from compiler_gym.tuning.size.safety import NO_LIMITS, Limits
from compiler_gym.tuning.size.trial_linking import LinkedSize, trial_linker
from compiler_gym.tuning.speed.workload import Slowdown, SlowdownLimit
from compiler_gym.util import llvm_tools
from compiler_gym.util.shell_format import join_cmd, plural
from compiler_gym.util.tabulate import html_table

if TYPE_CHECKING:
    from compiler_gym.tuning.policies.policy import Policy

_ENDS_WITH_PAGE = (0.6, 0.8, 1.0)

NOT_REPEATED = (
    "The command below does not make the same bytes, because the object file was compiled from "
    "bitcode. Often only the name of the source for debuggers differs. Keep the file."
)
"""The note about a command that does not repeat a result."""


def experimental_notes(change: Change) -> list[str]:
    """Returns a line with the experimental options of a change; empty without any."""
    options = ", ".join(experimental_options(change))
    # The machine outliner is on by default for other targets, such as AArch64 at -Oz.
    said = "Experimental options, which LLVM does not turn on by itself for x86-64"
    return [f"{said}: {options}"] if options else []


@dataclass(frozen=True, kw_only=True)
class Product:
    """The object file of a program.

    Attributes:
        program: The program.
        target: The object file.
        seconds: The duration of the search.
        is_finished: False if Ctrl-C ended it.
        summary: The result, in a line.
        command: The command that makes the object file from the source.
        is_repeatable: True if the command makes the same bytes.
        script: The script that makes the object file; None if none was asked for.
        is_script_repeatable: True if the script makes the same bytes.
    """

    program: Input
    target: Path
    seconds: float
    is_finished: bool
    summary: str
    command: list[str]
    is_repeatable: bool
    script: Path | None = None
    is_script_repeatable: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns the result for JSON, with times in seconds."""
        return {
            "source": str(self.program.path),
            "object": str(self.target),
            "finished": self.is_finished,
            "seconds": self.seconds,
            "command": self.command,
            "command_repeats": self.is_repeatable,
            "script": self.script and str(self.script),
            "script_repeats": self.is_script_repeatable if self.script else None,
        }

    def _repr_html_(self) -> str:
        """Returns the result as a table, for notebooks."""
        return html_table(
            {
                "program": str(self.program.path),
                "object file": str(self.target),
                "result": self.summary,
                "search": f"{self.seconds:.1f} s{'' if self.is_finished else ', interrupted'}",
                "made by": join_cmd(self.command),
            }
        )

    def print_origin(self) -> None:
        """Prints the command and script that make the object file."""
        print_line("\nMade by")
        print_line(f"  {join_cmd(self.command)}")
        if self.script is None and any("-fpass-plugin" in word for word in self.command):
            print_line(
                "which loads the plugin of this package. --script writes a script with a copy."
            )
        if self.script is not None:
            verdict = "identical" if self.is_script_repeatable else "other bytes"
            print_line(f"and by {self.script}: {verdict}")


# Progress messages of ``compiler-gym optimize``.

_SECONDS_BETWEEN_LINES = 5
_LONG_SECONDS = 60


class Progress:
    """Shows the progress of a search: in one line on terminals, else in a new line now and then.

    Args:
        name: The name of the result.
        is_quiet: Show progress on terminals only.
    """

    def __init__(self, name: str, is_quiet: bool):
        self._is_quiet = is_quiet
        self._last = time.monotonic()
        self._status = messages().status(f"{name}: compiling")

    def __enter__(self) -> "Progress":
        if self._status.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def tell(self, text: str) -> None:
        """Prints a line that stays, unless it is empty."""
        if text and (self._status.console.is_terminal or not self._is_quiet):
            self._status.console.print(text, soft_wrap=True)

    def show(self, text: str, picture: str = "") -> None:
        """Shows the current state.

        Args:
            text: The message.
            picture: An addition for terminals.
        """
        now = time.monotonic()
        if self._status.console.is_terminal:
            parts = (text, picture, "Ctrl-C ends the search.")
            self._status.update("  ".join(part for part in parts if part))
        elif not self._is_quiet and now > self._last + _SECONDS_BETWEEN_LINES:
            self._last = now
            self._status.console.print(text, soft_wrap=True)


_GOALS = {
    Objective.ALL: "bytes loaded",
    Objective.TEXT: "bytes of code",
    Objective.LINKED: "bytes linked",
    Objective.INSTRUCTIONS: "instructions",
}


@dataclass(frozen=True)
class Settings:
    """The settings for all programs.

    Attributes:
        options: Options of clang.
        objective: The size to reduce; None to optimise for speed.
        seconds: The time for each program.
        evaluations: The maximum number of evaluations; None for no limit.
        jobs: The number of parallel compilers.
        policy: The policy that orders sequences of passes; None for none.
        check: Checks an object file; None for the program's own check, if it has one.
        linker: Links an object file to a program, if needed.
        with_experimental: Use experimental options.
        with_memory: Begin with the decisions for a former version of a source.
        may_drop_weak: Allow that weak symbols are missing that clang's object file exports.
        with_page: Leave time for a page about the result.
        is_quiet: Show progress on terminals only.
        limits: The decisions that are excluded.
    """

    options: tuple[str, ...]
    objective: Objective | None
    seconds: float
    evaluations: int | None
    jobs: int
    policy: "Policy | None"
    check: Check | None
    linker: Linker
    with_experimental: bool
    with_memory: bool
    may_drop_weak: bool
    with_page: bool
    is_quiet: bool
    limits: Limits = NO_LIMITS

    def compilation_of(self, source: Path) -> Compilation:
        """Returns the compilation of a source."""
        clang, plugin = llvm_tools.clang_path(), llvm_tools.own_passes_path()
        return Compilation(clang, source, self.options, plugin, self.limits)

    def budget_of(self, source: Path, ends: Sequence[float] = (1.0,)) -> Budget:
        """Returns the budget for a source; no evaluations if the source is excluded."""
        evaluations = 0 if self.limits.excludes(source) else self.evaluations
        return Budget(self.seconds, evaluations, ends)


@dataclass(frozen=True, kw_only=True)
class Result(Product):
    """The result of optimising a program for size.

    Attributes:
        search: The search, at its end.
        is_checked: True if there was a check.
        from_bitcode: True if clang makes the same code from bitcode as from the source.
        slowdown: Its runtime relative to clang's; None if not measured.
        cycles: The estimated cycles of all functions in clang's object file and in this one; None
            if there is no estimate.
        written: The use of memory by the program of all object files as they were written; None if
            it was not linked.
    """

    search: Optimizer
    is_checked: bool
    from_bitcode: bool
    slowdown: Slowdown | None
    cycles: tuple[float, float] | None
    written: MemoryUse | None = None

    @property
    def objects(self) -> tuple[ObjectFile, ObjectFile]:
        """The object files of clang and of the search."""
        return self.search.baseline.object, self.search.best.object

    @property
    def linked(self) -> tuple[LinkedSize, LinkedSize] | None:
        """The sizes of the two linked programs; None if not measured."""
        before, after = self.search.baseline.linked, self.search.best.linked
        if isinstance(before, LinkedSize) and isinstance(after, LinkedSize):
            return before, after
        return None

    @property
    def memory(self) -> tuple[MemoryUse, MemoryUse] | None:
        """The use of regions of memory by the two programs; None if not measured."""
        before, after = self.search.baseline.linked, self.search.best.linked
        if isinstance(before, MemoryUse) and isinstance(after, MemoryUse):
            return before, self.written or after
        return None

    @property
    def regions(self) -> list[dict[str, Any]] | None:
        """A row for each region of memory, with the bytes used; None if not measured."""
        return self.memory and region_rows(*self.memory)

    @cached_property
    def stack(self) -> tuple[StackUse, StackUse] | None:
        """The stack use of clang's object file, and of this one; None if clang does not tell.

        Each is compiled once more for that.
        """
        compilation = self.search.evaluator.compilation
        changes = (self.search.baseline.change, self.search.best.change)
        before, after = (stack_use(compilation, change) for change in changes)
        return (before, after) if before and after else None

    @property
    def functions(self) -> list[FunctionChange]:
        """The functions that changed, in the unit of the objective."""
        before, after = map(self.search.objective.of_functions, self.objects)
        return compare_functions(before, after)

    @property
    def saved(self) -> float:
        """The share of clang's size that is saved."""
        before = self.search.size(self.search.baseline)
        return 1 - self.search.size(self.search.best) / before if before else 0.0

    @property
    def apart(self) -> dict[str, int | None] | None:
        """The sizes of the parts of a whole program with clang, by objective."""
        apart = self.program.apart
        if not apart:
            return None
        counts = [each.instruction_count for each in apart]
        known = [count for count in counts if count is not None]
        return {
            "text": sum(each.text for each in apart),
            "all": sum(each.all for each in apart),
            "instructions": sum(known) if len(known) == len(counts) else None,
        }

    def as_json(self) -> dict[str, Any]:
        """Returns the result for JSON, with functions in the unit of the objective."""
        search = self.search
        budget = search.evaluator.budget
        return super().as_json() | {
            "objective": search.objective.value,
            "level": search.evaluator.compilation.level,
            "before": _sizes(search.baseline),
            "apart": self.apart,
            "after": _sizes(search.best),
            "counted": {
                "before": search.size(search.baseline),
                "after": search.size(search.best),
            },
            "linked": self.linked
            and {"before": asdict(self.linked[0]), "after": asdict(self.linked[1])},
            "regions": self.regions,
            "fits": self.memory and self.memory[1].fits,
            "saved": self.saved,
            "checked": self.is_checked,
            "slowdown": self.slowdown and asdict(self.slowdown),
            "cycles": self.cycles and {"before": self.cycles[0], "after": self.cycles[1]},
            "stack": self.stack
            and {"before": asdict(self.stack[0]), "after": asdict(self.stack[1])},
            "experimental": experimental_options(search.best.change),
            "evaluations": budget.used,
            "ended_by_time_limit": budget.is_cut,
            "memory": search.recalled
            and {"same": search.recalled.same, "functions": search.recalled.functions},
            "failed_evaluations": search.evaluator.failed,
            "from_bitcode": self.from_bitcode,
            "stages": [asdict(each) for each in search.stages],
            "curve": search.curve,
            "parts": [asdict(each) for each in search.parts],
            "wrong": [{"size": each.size, "why": each.why} for each in search.wrong],
            "functions": [
                {"name": each.name, "before": each.before, "after": each.after}
                for each in self.functions
            ],
        }


def _sizes(evaluation: Evaluation) -> dict[str, int | None]:
    found = evaluation.object
    return {
        "loaded": evaluation.loaded,
        "text": found.text,
        "all": found.all,
        "instructions": found.instruction_count,
    }


def optimize_program(
    program: Input, target: Path, settings: Settings, limit: SlowdownLimit | None = None
) -> Result:
    """Searches for a smaller object file of a program, and writes it.

    Args:
        program: The program.
        target: The path of the object file.
        settings: The settings.
        limit: Refuses object files that are too slow; None if time does not matter.

    Raises:
        BenchmarkInitError: If it does not compile.
        EnvironmentNotSupported: If a tool is not installed that the objective needs.
        Exception: Any error of :class:`Optimizer`, or of writing a file.
    """
    compilation = settings.compilation_of(program.path)
    checks = [each for each in (settings.check or program.check, limit) if each is not None]
    objective = settings.objective or Objective.ALL
    linker = settings.linker if objective.is_linked else None
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        ends = _ENDS_WITH_PAGE if settings.with_page else ENDS
        budget = settings.budget_of(program.path, ends)
        with (
            Evaluator(
                compilation,
                Path(folder),
                budget,
                settings.jobs,
                linker,
                trial_linker(compilation.options),
                objective.read,
                may_drop_weak=settings.may_drop_weak,
            ) as evaluator,
            Progress(target.name, settings.is_quiet) as progress,
        ):
            search = Optimizer(
                evaluator,
                objective,
                all_of(checks) if checks else None,
                advice=settings.policy.sequences_for if settings.policy else None,
                memory=_memory(compilation, settings, objective),
                is_unmarked=compilation.is_ir and not program.is_for_size,
                with_experimental=settings.with_experimental,
                ranking=shipped_ranking(),
                watch=lambda search: progress.show(*_progress(search, Path(target.name))),
            )
            is_finished = _run(search, lambda: progress.tell(_estimate(search, settings)))
            seconds = budget.passed
            search.remember()
        write_object(search.best, target)
        change = search.best.change
        cycles = estimate_changed_cycles(search.baseline.path, target)
        is_repeatable = reproduces(compilation, search.best)
    return Result(
        program=program,
        target=target,
        search=search,
        seconds=seconds,
        is_finished=is_finished,
        summary=_summary(search, target),
        is_checked=bool(checks),
        slowdown=limit.measured.get(search.best.object.digest) if limit else None,
        cycles=cycles,
        from_bitcode=evaluator.unit is not None,
        command=compilation.command(target, change),
        is_repeatable=is_repeatable,
    )


def _memory(compilation: Compilation, settings: Settings, objective: Objective) -> Memory | None:
    if not settings.with_memory:
        return None
    policy = settings.policy
    facts = (
        f"{objective.value}{settings.linker.region}",
        str(settings.with_experimental),
        str((policy.sequences, policy.about)) if policy else "",
    )
    return open_memory(compilation, *facts)


def _estimate(search: Optimizer, settings: Settings) -> str:
    """Returns how long a search may take; empty if that is short, or limited by time alone."""
    seconds = search.evaluator.seconds
    if settings.evaluations is None:
        return ""
    # As many evaluations, up to a limit, leave parts out, and half as many measure the rest.
    runs = settings.evaluations + 1.5 * min(settings.evaluations, 30)
    total = min(runs * seconds / settings.jobs, settings.seconds)
    if total < _LONG_SECONDS:
        return ""
    about = f"{total:.0f} s" if total < 2 * _LONG_SECONDS else f"{total / 60:.0f} min"
    return (
        f"This takes about {about}: {plural(settings.evaluations, 'evaluation')} of {seconds:.1f} "
        f"s, {settings.jobs} at a time. --evaluations and --budget limit it."
    )


def _run(search: Optimizer, tell: Callable[[], None]) -> bool:
    """Searches. Returns False if Ctrl-C ended the search after a first result.

    Args:
        search: The search.
        tell: Called before it.
    """
    search.start()
    tell()
    sys.stderr.write(search.evaluator.messages)  # Warnings of clang.
    try:
        search.run()
        search.minimise()
    except KeyboardInterrupt:
        return False
    return True


_BARS = "▁▂▃▄▅▆▇█"
_MAX_BARS = 16


def _curve(search: Optimizer) -> str:
    """Returns a curve of the smallest size so far."""
    sizes = [size for _, _, size in search.curve][-_MAX_BARS:]
    low, high = min(sizes), max(sizes)
    steps = len(_BARS) - 1
    return "".join(_BARS[(size - low) * steps // max(1, high - low)] for size in sizes)


def _progress(search: Optimizer, target: Path) -> tuple[str, str]:
    """Returns the smallest size so far, and its curve."""
    budget = search.evaluator.budget
    text = (
        f"{_summary(search, target)}; {search.stage}, {plural(budget.used, 'evaluation')}, "
        f"{budget.passed:.0f} s"
    )
    return text, _curve(search)


def _summary(search: Optimizer, target: Path) -> str:
    before, after = search.size(search.baseline), search.size(search.leading)
    level = search.evaluator.compilation.level
    memory = search.baseline.linked
    goal = f"bytes of {memory.name}" if isinstance(memory, MemoryUse) else _GOALS[search.objective]
    size = f"{target}: {after} {goal}"
    if after == before:
        return f"{size}, as many as clang {level} makes"
    saved = f"{1 - after / before:.2%} {search.objective.comparative}"
    return f"{size}, {saved} than the {before} of clang {level}"
