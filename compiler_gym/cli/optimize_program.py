"""One program of ``compiler-gym optimize``: the search, what is written, and what is said."""

import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from compiler_gym.cli.console import print_line, print_table
from compiler_gym.cli.optimize_progress import Progress
from compiler_gym.cli.optimize_result import Product, experimental_notes
from compiler_gym.envs.llvm import tools
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.tuning.size.checks import Check, all_of
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.cycles import estimate_changed_cycles
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.linking import LinkedSize, Linker
from compiler_gym.tuning.size.minimise import Part
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.portfolio import experimental_options
from compiler_gym.tuning.size.product import reproduces, write_object
from compiler_gym.tuning.size.report import FunctionChange, compare_functions, readable_names
from compiler_gym.tuning.size.stack import StackUse, stack_use
from compiler_gym.tuning.size.trial_link import trial_linker
from compiler_gym.tuning.speed.slowdown import Slowdown, SlowdownLimit
from compiler_gym.util.shell_format import plural

_MAX_FUNCTIONS = 8
_MAX_PARTS = 12
_MAX_NAME = 56
_GOALS = {
    Objective.ALL: "bytes loaded",
    Objective.TEXT: "bytes of code",
    Objective.LINKED: "bytes linked",
    Objective.INSTRUCTIONS: "instructions",
}


@dataclass(frozen=True)
class Settings:
    """What is asked for, of all programs alike.

    Attributes:
        options: Options of clang.
        objective: What is to be small; None if the program is to be fast.
        seconds: The time for each program.
        evaluations: How often to run clang with changes; None for any number.
        jobs: How many compilers run at a time.
        policy: Says which sequences of passes are tried first; None for none.
        check: Whether an object file is right; None for the program's own check, if it has one.
        linker: What links an object file to a program, where that is needed.
        with_experimental: Whether to use experimental options.
        is_quiet: Whether nothing is said while it runs, unless there is a terminal.
    """

    options: tuple[str, ...]
    objective: Objective | None
    seconds: float
    evaluations: int | None
    jobs: int
    policy: Policy | None
    check: Check | None
    linker: Linker
    with_experimental: bool
    is_quiet: bool


@dataclass(frozen=True, kw_only=True)
class Result(Product):
    """What came of a program that was to be small.

    Attributes:
        search: The search, at its end.
        is_checked: Whether there was a check.
        from_bitcode: Whether clang made the same code of the bitcode of the source.
        slowdown: How its time compares with that of clang's; None if that was not measured.
        cycles: The estimated cycles of all functions of clang's object file, and of the one that
            was found; None if there is no estimate.
    """

    search: Optimizer
    is_checked: bool
    from_bitcode: bool
    slowdown: Slowdown | None
    cycles: tuple[float, float] | None

    @property
    def objects(self) -> tuple[ObjectFile, ObjectFile]:
        """The object file of clang, and the one that was found."""
        return self.search.baseline.object, self.search.best.object

    @property
    def linked(self) -> tuple[LinkedSize, LinkedSize] | None:
        """What is linked of these; None if that was not measured."""
        before, after = self.search.baseline.linked, self.search.best.linked
        return (before, after) if before and after else None

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
        """The share that is saved of what clang makes by itself."""
        before = self.search.size(self.search.baseline)
        return 1 - self.search.size(self.search.best) / before if before else 0.0

    @property
    def apart(self) -> dict[str, int | None] | None:
        """What clang makes of the parts of a whole program, by objective."""
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
        """Returns all about it; functions in the unit of the objective."""
        search = self.search
        budget = search.evaluator.budget
        return super().as_json() | {
            "objective": search.objective.value,
            "level": search.evaluator.compilation.level,
            "before": _sizes(search.baseline),
            "apart": self.apart,
            "after": _sizes(search.best),
            "linked": self.linked
            and {"before": asdict(self.linked[0]), "after": asdict(self.linked[1])},
            "saved": self.saved,
            "checked": self.is_checked,
            "slowdown": self.slowdown and asdict(self.slowdown),
            "cycles": self.cycles and {"before": self.cycles[0], "after": self.cycles[1]},
            "stack": self.stack
            and {"before": asdict(self.stack[0]), "after": asdict(self.stack[1])},
            "experimental": experimental_options(search.best.change),
            "evaluations": budget.used,
            "ended_by_time_limit": budget.is_cut,
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
        target: Where the object file goes.
        settings: The settings.
        limit: Refuses object files that are too slow; None if time does not matter.

    Raises:
        BenchmarkInitError: If it does not compile.
        EnvironmentNotSupported: If a tool is not installed that the objective needs.
        Exception: As of :class:`Optimizer` and for files that cannot be written.
    """
    compilation = Compilation(
        tools.clang_path(), program.path, settings.options, tools.own_passes_path()
    )
    checks = [each for each in (settings.check or program.check, limit) if each is not None]
    objective = settings.objective or Objective.ALL
    linker = settings.linker if objective is Objective.LINKED else None
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        budget = Budget(settings.seconds, settings.evaluations)
        with (
            Evaluator(
                compilation,
                Path(folder),
                budget,
                settings.jobs,
                linker,
                trial_linker(compilation.options),
                objective.read,
            ) as evaluator,
            Progress(target.name, settings.is_quiet) as progress,
        ):
            search = Optimizer(
                evaluator,
                objective,
                all_of(checks) if checks else None,
                advice=settings.policy and settings.policy.sequences_for,
                is_unmarked=compilation.is_ir and not program.is_for_size,
                with_experimental=settings.with_experimental,
                watch=lambda search: progress.show(*_progress(search, Path(target.name))),
            )
            is_finished = _run(search)
            seconds = budget.passed
        write_object(search.best, target)
        change = search.best.change
        cycles = estimate_changed_cycles(search.baseline.path, target)
        repeats = reproduces(compilation, search.best)
    return Result(
        program=program,
        target=target,
        search=search,
        seconds=seconds,
        is_finished=is_finished,
        summary=_summary(search, target),
        is_checked=bool(checks),
        slowdown=limit and limit.measured.get(search.best.object.digest),
        cycles=cycles,
        from_bitcode=evaluator.unit is not None,
        command=compilation.command(target, change),
        repeats=repeats,
    )


def _run(search: Optimizer) -> bool:
    """Searches; returns False if Ctrl-C ended that, after there was a first result."""
    search.start()
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
    """Returns how the smallest size went down, as a picture."""
    sizes = [size for _, _, size in search.curve][-_MAX_BARS:]
    low, high = min(sizes), max(sizes)
    steps = len(_BARS) - 1
    return "".join(_BARS[(size - low) * steps // max(1, high - low)] for size in sizes)


def _progress(search: Optimizer, target: Path) -> tuple[str, str]:
    """Returns what the smallest size is by now, and how it went down."""
    budget = search.evaluator.budget
    text = (
        f"{_summary(search, target)}; {search.stage}, {plural(budget.used, 'evaluation')}, "
        f"{budget.passed:.0f} s"
    )
    return text, _curve(search)


def _summary(search: Optimizer, target: Path) -> str:
    before, after = search.size(search.baseline), search.size(search.leading)
    level = search.evaluator.compilation.level
    size = f"{target}: {after} {_GOALS[search.objective]}"
    if after == before:
        return f"{size}, as many as clang {level} makes"
    saved = f"{1 - after / before:.2%} {_comparative(search.objective)}"
    return f"{size}, {saved} than the {before} of clang {level}"


def _other_bytes(search: Optimizer) -> str:
    """Returns the code of a search for few loaded bytes, or the reverse; else nothing."""
    before, after = search.baseline, search.best
    if search.objective is Objective.ALL:
        return f"Code: {after.object.text} bytes, where clang makes {before.object.text}."
    if search.objective is Objective.TEXT:
        return f"Loaded: {after.loaded} bytes, where clang makes {before.loaded}."
    return ""


def _describe_stack(before: StackUse, after: StackUse) -> str:
    return (
        f"Stack: {after.total} bytes in all frames, {after.largest} in the largest, where clang "
        f"makes {before.total} and {before.largest}."
    )


def _comparative(objective: Objective) -> str:
    """Returns what is said of less of what is to be small."""
    return "fewer" if objective is Objective.INSTRUCTIONS else "smaller"


def print_report(result: Result) -> None:
    """Prints what came of a program."""
    search = result.search
    print_line(result.summary)
    if line := _other_bytes(search):
        print_line(line)
    if result.stack is not None:
        print_line(_describe_stack(*result.stack))
    if result.cycles is not None:
        before_cycles, after_cycles = result.cycles
        print_line(
            f"Estimated cycles: {after_cycles:.0f} of all functions, each run once as a straight "
            f"line, where clang's take {before_cycles:.0f}."
        )
    if result.linked is not None:
        print_line(describe_files(*result.linked))
    if result.program.apart and search.objective is not Objective.LINKED:
        print_line(_comparison(result))
    if not result.is_finished:
        print_line("Ctrl-C ended the search. This is the best that was found by then.")
    elif search.evaluator.budget.is_cut:
        used = plural(search.evaluator.budget.used, "evaluation")
        print_line(f"Ended by the time limit after {used}: other runs may find other results.")
    before, unit = search.size(search.baseline), search.objective.unit
    rows = [{"stage": "clang", "evaluations": 0, "seconds": "", unit: before, "saved": ""}]
    rows += [
        {
            "stage": each.name if each.round == 1 else f"{each.name}, round {each.round}",
            "evaluations": each.evaluations,
            "seconds": f"{each.seconds:.1f}",
            unit: each.size,
            "saved": f"{1 - each.size / before:.2%}" if before else "",
        }
        for each in search.stages
    ]
    print_line()
    print_table(rows)
    _print_parts(search)
    _print_functions(result)
    _print_doubts(result)
    result.print_origin()


def describe_files(before: LinkedSize, after: LinkedSize) -> str:
    """Says how large the files of programs are."""
    return (
        f"Linked and stripped, the program's file has {after.file} bytes, where clang's has "
        f"{before.file}."
    )


def _comparison(result: Result) -> str:
    """Says what a whole program is smaller than: the sum of its parts."""
    search = result.search
    size = search.objective.size_of_sections
    before, after = sum(map(size, result.program.apart)), size(search.best.object)
    saved = 1 - after / before if before else 0.0
    level = search.evaluator.compilation.level
    parts = plural(len(result.program.apart), "part")
    it_is = "these are" if search.objective is Objective.INSTRUCTIONS else "it is"
    return (
        f"Of its {parts}, one by one, clang {level} makes {before}: {it_is} {saved:.2%} "
        f"{_comparative(search.objective)} than that."
    )


def _print_parts(search: Optimizer) -> None:
    """Prints what each part of the best change is worth."""
    if not search.parts:
        return
    title = f"{search.objective.unit} more without it"
    rows: list[dict[str, Any]] = [
        {"part of the change": each.name, title: _cost(each)} for each in search.parts[:_MAX_PARTS]
    ]
    if rest := search.parts[_MAX_PARTS:]:
        name = f"{plural(len(rest), 'other')}, each no more than"
        rows.append({"part of the change": name, title: _cost(rest[0])})
    print_line()
    print_table(rows)


def _cost(part: Part) -> int | str:
    return "not measured" if part.cost is None else part.cost


def _print_functions(result: Result) -> None:
    """Prints where the bytes or instructions went."""
    changes = result.functions
    if not changes:
        return
    first = changes[:_MAX_FUNCTIONS]
    names = readable_names([each.name for each in first])
    rows: list[dict[str, Any]] = [
        {
            "function": name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…",
            "before": each.before,
            "after": each.after,
            "saved": each.saved,
        }
        for name, each in zip(names, first, strict=True)
    ]
    rest = changes[_MAX_FUNCTIONS:]
    if rest:
        rows.append(
            {
                "function": plural(len(rest), "other"),
                "before": sum(each.before for each in rest),
                "after": sum(each.after for each in rest),
                "saved": sum(each.saved for each in rest),
            }
        )
    print_line()
    print_table(rows)


def _print_doubts(result: Result) -> None:
    """Prints what one should know before one uses the object file."""
    search = result.search
    print_line()
    if result.is_checked:
        print_line("Checked: it passes the check.")
    else:
        print_line("Not checked: nothing was run. --check names a command that does.")
    if slowdown := result.slowdown:
        print_line(
            f"Time: {slowdown.ratio:.2f} times that of clang's ({slowdown.low:.2f} to "
            f"{slowdown.high:.2f}), measured in turns."
        )
    for line in experimental_notes(search.best.change):
        print_line(line)
    for each in search.wrong:
        print_line(f"A result of {each.size} {search.objective.unit} failed the check: {each.why}")
    if search.evaluator.failed:
        print_line(f"clang failed in {plural(search.evaluator.failed, 'evaluation')}.")
    if search.evaluator.timed_out:
        slow = plural(search.evaluator.timed_out, "evaluation")
        print_line(f"clang took more than 10 minutes in {slow}, and was ended.")
    if not result.from_bitcode:
        print_line(
            "clang makes other code of the source than of its bitcode: only options were tried."
        )
    if not result.repeats:
        print_line("The command below makes other bytes of the source than of its bitcode.")
