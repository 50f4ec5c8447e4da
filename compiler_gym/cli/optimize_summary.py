"""What ``compiler-gym optimize`` prints of several programs."""

import math
from collections.abc import Sequence

from compiler_gym.cli.console import print_line, print_table
from compiler_gym.cli.optimize_program import Result


def print_summary(results: Sequence[Result]) -> None:
    """Prints a row for each program, and what they have in common."""
    searches = [each.search for each in results]
    level = searches[0].evaluator.compilation.level
    rows = [
        {
            "object file": each.target.name,
            f"clang\n{level}": search.size(search.baseline),
            "best": search.size(search.best),
            "saved": f"{each.saved:.2%}",
            "tries": search.evaluator.budget.used,
            "seconds": f"{each.seconds:.0f}",
            "output": "right" if each.is_checked else "not checked",
        }
        for each, search in zip(results, searches, strict=True)
    ]
    goal = "code" if searches[0].objective.value == "text" else "all that is loaded"
    print_table(rows, f"Bytes of {goal} in object files, chosen by search, against clang {level}")
    smaller = sum(each.saved > 0 for each in results)
    rest = math.exp(sum(math.log(1 - each.saved) for each in results) / len(results))
    print_line(
        f"\n{smaller} of {len(results)} are smaller than those of clang {level}, by {1 - rest:.2%} "
        "in the geometric mean."
    )
    if not results[-1].is_finished:
        print_line("Ctrl-C ended the search. These are the best that were found by then.")
    print_line("For one program alone it says where its bytes went, and what command makes it.")
