"""The summary of ``compiler-gym optimize`` for several programs."""

import math
from collections.abc import Sequence

from compiler_gym.cli.console import print_line, print_table
from compiler_gym.cli.optimize_program import Result, describe_files
from compiler_gym.tuning.size.objective import Objective

_GOALS = {
    Objective.TEXT: "Bytes of code",
    Objective.ALL: "Bytes of all that is loaded",
    Objective.INSTRUCTIONS: "Machine instructions",
}


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
    rest = math.exp(sum(math.log(1 - each.saved) for each in results) / len(results))
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
        return {"code\nsaved": _share(before.object.text, after.object.text)}
    if result.search.objective is Objective.TEXT:
        return {"loaded\nsaved": _share(before.loaded, after.loaded)}
    return {}


def _change(values: tuple[float, float] | None) -> str:
    return f"{values[1] / values[0] - 1:+.1%}" if values and values[0] else ""


def _share(before: int, after: int) -> str:
    return f"{1 - after / before:.2%}" if before else ""


def print_linked_summary(results: Sequence[Result]) -> None:
    """Prints the savings of each part of a linked program, and of all of it."""
    level = results[0].search.evaluator.compilation.level
    print_table(
        [
            {
                "object file": each.target.name,
                "code before": each.objects[0].text,
                "after": each.objects[1].text,
                "est.\ncycles": _change(each.cycles),
                "linked": each.search.size(each.search.best),
                "tries": each.search.evaluator.budget.used,
                "seconds": f"{each.seconds:.0f}",
                "output": "right" if each.is_checked else "not checked",
            }
            for each in results
        ],
        "Bytes of the program that is linked, after each of its parts",
    )
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
