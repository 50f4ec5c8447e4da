"""How ``compiler-gym compliance`` shows what it has found."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from compiler_gym.cli.console import output, print_line, show
from compiler_gym.compliance import RULES, Outcome, Result, Rule, Target

_STYLES = {Outcome.OK: "green", Outcome.FAILED: "bold red", Outcome.NOT_CHECKED: "yellow"}
_OUTCOME_WIDTH = max(len(outcome.value) for outcome in Outcome)
_ID_WIDTH = max(len(rule.id) for rule in RULES)
_TITLE_WIDTH = len("change")


def print_target(target: Target) -> None:
    """Prints what is checked."""
    print_line(f"service  {target.service}")
    for benchmark in target.benchmarks:
        print_line(f"program  {benchmark.uri}")
    if not target.benchmarks:
        print_line("program  none: see --benchmark, --dataset and --env")
    print_line()


def print_result(result: Result, is_verbose: bool) -> None:
    """Prints a line about a rule, and what was found below it.

    Args:
        result: What was found.
        is_verbose: Whether to print the sentence of rules that hold, too.
    """
    rule = result.rule
    line = Text()
    line.append(f"{result.outcome.value:{_OUTCOME_WIDTH}}", _STYLES[result.outcome])
    line.append(f"  {rule.id}")
    output().print(line)
    details = {}
    if is_verbose or result.outcome is Outcome.FAILED:
        details["rule"] = rule.sentence
    if result.text:
        details["found" if result.outcome is Outcome.FAILED else "note"] = result.text
    if result.outcome is Outcome.FAILED:
        details["change"] = rule.advice
    if details:
        _print_details(details)


def _print_details(details: dict[str, str]) -> None:
    table = _table(_OUTCOME_WIDTH, _TITLE_WIDTH)
    for title, text in details.items():
        table.add_row("", Text(title, style="dim"), Text(text))
    show(table)


def _table(*widths: int) -> Table:
    """A table of columns of these widths, and one more for text."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for width in widths:
        table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    return table


def print_summary(results: Sequence[Result]) -> None:
    """Prints how many rules hold."""
    counts = Counter(result.outcome for result in results)
    parts = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome)
    seconds = sum(result.seconds for result in results)
    rules = "1 rule" if len(results) == 1 else f"{len(results)} rules"
    print_line(f"\n{rules}: {parts}, in {seconds:.0f} seconds")


def print_rules(rules: Sequence[Rule]) -> None:
    """Prints rules that are not checked."""
    table = _table(_ID_WIDTH)
    for rule in rules:
        table.add_row(rule.id, Text(rule.sentence))
    show(table)


def plain(target: Target, results: Sequence[Result]) -> dict[str, Any]:
    """Returns what was found, to be printed as JSON."""
    counts = Counter(result.outcome for result in results)
    return {
        "service": str(target.service),
        "programs": [benchmark.uri for benchmark in target.benchmarks],
        "counts": {outcome.value: counts[outcome] for outcome in Outcome},
        "rules": [
            {
                "id": result.rule.id,
                "outcome": result.outcome.value,
                "sentence": result.rule.sentence,
                "text": result.text,
                "advice": result.rule.advice,
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ],
    }
