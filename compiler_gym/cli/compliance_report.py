"""How ``compiler-gym compliance`` shows what it has found."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler_gym.cli.console import output
from compiler_gym.compliance import Outcome, Result, Rule, Target

_STYLES = {Outcome.OK: "green", Outcome.FAILED: "bold red", Outcome.NOT_CHECKED: "yellow"}
_OUTCOME_WIDTH = max(len(outcome.value) for outcome in Outcome)
_ID_WIDTH = 26


def print_target(target: Target) -> None:
    """Prints what is checked."""
    console = output()
    console.print(f"service   {target.service}", soft_wrap=True)
    for benchmark in target.benchmarks:
        console.print(f"program   {benchmark.uri}", soft_wrap=True)


def print_result(result: Result, is_verbose: bool) -> None:
    """Prints a line about a rule, and what was found below it.

    Args:
        result: What was found.
        is_verbose: Whether to print the sentence of rules that hold, too.
    """
    rule = result.rule
    texts = [rule.sentence if is_verbose or result.outcome is Outcome.FAILED else ""]
    if result.outcome is Outcome.FAILED:
        texts += [f"Found: {result.text}", f"Change: {rule.advice}"]
    elif result.text:
        texts.append(result.text)
    _print_row(result.outcome, rule.id, "\n".join(text for text in texts if text))


def _print_row(outcome: Outcome, id: str, text: str) -> None:
    console = output()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_OUTCOME_WIDTH, no_wrap=True)
    table.add_column(width=_ID_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(outcome.value, style=_STYLES[outcome]), id, Text(text))
    _print_without_trailing_blanks(console, table)


def _print_without_trailing_blanks(console: Console, table: Table) -> None:
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), flush=True)


def print_summary(results: Sequence[Result]) -> None:
    """Prints how many rules hold."""
    counts = Counter(result.outcome for result in results)
    parts = [f"{counts[outcome]} {outcome.value}" for outcome in Outcome]
    seconds = sum(result.seconds for result in results)
    output().print(f"\n{len(results)} rules: {', '.join(parts)}; {seconds:.0f} seconds")


def print_rules(rules: Sequence[Rule]) -> None:
    """Prints rules that are not checked."""
    console = output()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_ID_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for rule in rules:
        table.add_row(rule.id, Text(rule.sentence))
    _print_without_trailing_blanks(console, table)


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
