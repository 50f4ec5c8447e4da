"""Reports of ``compiler-gym optimize`` about object files that are to be small."""

from collections.abc import Sequence
from typing import Any

from compiler_gym.cli.console import print_line, print_table
from compiler_gym.cli.optimize_program import NOT_REPEATED, Result, experimental_notes
from compiler_gym.tuning.size.memory_regions import MemoryUse, region_rows
from compiler_gym.tuning.size.minimise import Part
from compiler_gym.tuning.size.object_file import StackUse, readable_names
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.trial_linking import LinkedSize
from compiler_gym.util.shell_format import percent_saved, plural
from compiler_gym.util.statistics import geometric_mean
from compiler_gym.util.truncate import shortened

_MAX_FUNCTIONS = 8
_MAX_PARTS = 12
_MAX_NAME = 56
_GOALS = {
    Objective.TEXT: "Bytes of code",
    Objective.ALL: "Bytes of all that is loaded",
    Objective.INSTRUCTIONS: "Machine instructions",
}


def print_report(result: Result) -> None:
    """Prints the report about a program."""
    search = result.search
    print_line(result.summary)
    if line := _other_bytes(search):
        print_line(line)
    if line := _shared_bytes(search):
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
    if result.memory is not None:
        print_memory(*result.memory)
    if result.program.apart and not search.objective.is_linked:
        print_line(_comparison(result))
    if search.recalled is not None:
        print_line(f"The search {search.recalled.description}.")
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
            "saved": percent_saved(before, each.size),
        }
        for each in search.stages
    ]
    print_line()
    print_table(rows)
    _print_parts(search)
    _print_functions(result)
    _print_doubts(result)
    result.print_origin()


def _other_bytes(search: Optimizer) -> str:
    """Returns the bytes of code if the objective is loaded bytes, and vice versa; else empty."""
    before, after = search.baseline, search.best
    if search.objective is Objective.ALL:
        return f"Code: {after.object.text} bytes, where clang makes {before.object.text}."
    if search.objective is Objective.TEXT:
        return f"Loaded: {after.loaded} bytes, where clang makes {before.loaded}."
    return ""


def _shared_bytes(search: Optimizer) -> str:
    """Returns what of the size is only counted because of other object files; else empty."""
    rest = search.size(search.best) - search.objective.cost(search.best)[0]
    if not rest or search.objective.is_linked:
        return ""
    return (
        f"{rest} {search.objective.unit} of these are saved in inline functions, but counted: "
        "another object file may have such a function as clang makes it."
    )


def _describe_stack(before: StackUse, after: StackUse) -> str:
    return (
        f"Stack: {after.total} bytes in all frames, {after.largest} in the largest, where clang "
        f"makes {before.total} and {before.largest}."
    )


def describe_files(before: LinkedSize, after: LinkedSize) -> str:
    """Describes the sizes of the programs' files."""
    return (
        f"Linked and stripped, the program's file has {after.file} bytes, where clang's has "
        f"{before.file}."
    )


def print_memory(before: MemoryUse, after: MemoryUse) -> None:
    """Prints whether the program fits, and the use of all regions of memory."""
    print_line(after.describe())
    print_line()
    print_table(region_rows(before, after), "Bytes used of the regions of memory")


def _comparison(result: Result) -> str:
    """Compares a whole program with the sum of its parts."""
    search = result.search
    size = search.objective.size_of_sections
    before, after = sum(map(size, result.program.apart)), size(search.best.object)
    saved = 1 - after / before if before else 0.0
    level = search.evaluator.compilation.level
    parts = plural(len(result.program.apart), "part")
    it_is = "these are" if search.objective is Objective.INSTRUCTIONS else "it is"
    return (
        f"Of its {parts}, one by one, clang {level} makes {before}: {it_is} {saved:.2%} "
        f"{search.objective.comparative} than that."
    )


def _print_parts(search: Optimizer) -> None:
    """Prints the contribution of each part of the best change."""
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
    """Prints the change of each function's size."""
    changes = result.functions
    if not changes:
        return
    first = changes[:_MAX_FUNCTIONS]
    names = readable_names([each.name for each in first])
    rows: list[dict[str, Any]] = [
        {
            "function": shortened(name, _MAX_NAME),
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
    """Prints warnings about the use of the object file."""
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
    if not result.is_repeatable:
        print_line(NOT_REPEATED)


def print_summary(results: Sequence[Result]) -> None:
    """Prints a row for each program, and a summary of all."""
    searches = [each.search for each in results]
    level = searches[0].evaluator.compilation.level
    rows = [
        {
            "object file": each.target.name,
            f"clang\n{level}": search.size(search.baseline),
            "best": search.size(search.best),
            "saved": f"{each.saved:.2%}",
            **_other_saved(each),
            "est.\ncycles": _change(each.cycles),
            "tries": search.evaluator.budget.used,
            "seconds": f"{each.seconds:.0f}",
            "output": "right" if each.is_checked else "not checked",
        }
        for each, search in zip(results, searches, strict=True)
    ]
    objective = searches[0].objective
    title = f"{_GOALS[objective]} in object files, chosen by search, against clang {level}"
    print_table(rows, title)
    counts = objective is Objective.INSTRUCTIONS
    are_smaller = "have fewer instructions" if counts else "are smaller"
    smaller = sum(each.saved > 0 for each in results)
    rest = geometric_mean(1 - each.saved for each in results)
    by = f", by {1 - rest:.2%} in the geometric mean" if smaller else ""
    print_line(f"\n{smaller} of {len(results)} {are_smaller} than those of clang {level}{by}.")
    if not results[-1].is_finished:
        print_line("Ctrl-C ended the search. These are the best that were found by then.")
    cut = [each.target.name for each in results if each.search.evaluator.budget.is_cut]
    if cut:
        print_line(f"Ended by the time limit: {', '.join(cut)}. Other runs may find other results.")
    print_line(
        f"For one program alone it says where its {objective.unit} went, and what command makes it."
    )


def _other_saved(result: Result) -> dict[str, str]:
    """Returns a cell with the saved share of code, or of loaded bytes; else empty."""
    before, after = result.search.baseline, result.search.best
    if result.search.objective is Objective.ALL:
        return {"code\nsaved": percent_saved(before.object.text, after.object.text)}
    if result.search.objective is Objective.TEXT:
        return {"loaded\nsaved": percent_saved(before.loaded, after.loaded)}
    return {}


def _change(values: tuple[float, float] | None) -> str:
    return f"{values[1] / values[0] - 1:+.1%}" if values and values[0] else ""


def print_linked_summary(results: Sequence[Result]) -> None:
    """Prints the savings of each part of a linked program, and of all of it."""
    level = results[0].search.evaluator.compilation.level
    memory = results[0].memory
    title = f"Bytes of {memory[0].name}" if memory else "Bytes of the program that is linked"
    print_table(
        [
            {
                "object file": each.target.name,
                "code before": each.objects[0].text,
                "after": each.objects[1].text,
                "est.\ncycles": _change(each.cycles),
                memory[0].name if memory else "linked": each.search.size(each.search.best),
                "tries": each.search.evaluator.budget.used,
                "seconds": f"{each.seconds:.0f}",
                "output": "right" if each.is_checked else "not checked",
            }
            for each in results
        ],
        f"{title}, after each of its parts",
    )
    if memory and results[-1].memory:
        print_line()
        print_memory(memory[0], results[-1].memory[1])
    first, last = results[0].linked, results[-1].linked
    if first and last:
        before, after = first[0].loaded, last[1].loaded
        saved = (
            f"{1 - after / before:.2%} less than the {before}"
            if after < before
            else "as many as those"
        )
        print_line(f"\nThe program has {after} bytes of text and data, {saved} of clang {level}.")
        print_line(describe_files(first[0], last[1]))
    if not results[-1].is_finished:
        print_line("Ctrl-C ended the search. These are the best that were found by then.")
