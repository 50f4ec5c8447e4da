"""``compiler-gym compliance``: checks a service against the rules of the protocol."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from compiler_gym.cli.console import output, print_json, print_line, progress_bar, show
from compiler_gym.cli.options import JsonOption, complete_env
from compiler_gym.compliance.rule import Outcome, Result, Rule
from compiler_gym.util.shell_format import plural

if TYPE_CHECKING:
    from compiler_gym.compliance import Target

_STYLES = {Outcome.OK: "green", Outcome.FAILED: "bold red", Outcome.NOT_CHECKED: "yellow"}
_OUTCOME_WIDTH = max(len(outcome.value) for outcome in Outcome)
_TITLE_WIDTH = len("change")


def print_target(target: "Target") -> None:
    """Prints the target of the check."""
    print_line(f"service  {target.service}")
    for benchmark in target.benchmarks:
        print_line(f"program  {benchmark.uri}")
    if not target.benchmarks:
        print_line("program  none: see --benchmark, --dataset and --env")
    print_line()


def print_result(result: Result, is_verbose: bool) -> None:
    """Prints a line about a rule, and the findings below it.

    Args:
        result: The result.
        is_verbose: Print the sentence of rules that hold, too.
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
    print_line(f"\n{plural(len(results), 'rule')}: {parts}, in {seconds:.0f} seconds")


def print_rules(rules: Sequence[Rule]) -> None:
    """Prints rules that are not checked."""
    from compiler_gym.compliance import RULES

    table = _table(max((len(rule.id) for rule in RULES), default=0))
    for rule in rules:
        table.add_row(rule.id, Text(rule.sentence))
    show(table)


def plain(target: "Target", results: Sequence[Result]) -> dict[str, Any]:
    """Returns the result as values for JSON."""
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


def compliance(
    service: Annotated[
        Path | None,
        typer.Argument(help="The program of a service; a .py file is run by this Python."),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            help="The id of an environment, whose service and programs to take; MODULE:ID "
            "imports a module first.",
            autocompletion=complete_env,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(help="A program: a file, or a URI that the service knows. Two are better."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="MODULE:CLASS of a dataset with programs.")
    ] = None,
    argument: Annotated[
        list[str] | None, typer.Option(help="A further argument of the service.")
    ] = None,
    crash_action: Annotated[
        str | None, typer.Option(help="The name or number of an action that crashes.")
    ] = None,
    hang_action: Annotated[
        str | None, typer.Option(help="The name or number of an action that never ends.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", "-k", help="Check only rules with this in their ids."),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=1, help="The time limit of each rule in seconds.")
    ] = 60,
    lists: Annotated[
        bool, typer.Option("--list", help="List the rules without checking them.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the text of each rule.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a service against the rules that clients rely on.

    Each rule is checked from outside: by requests, files, flags and exit codes. The exit code is 0
    if no rule is broken. A rule that cannot be checked counts as not broken, and its line tells
    what the check needs.

    \b
    Examples:
      compiler-gym compliance my_service.py --benchmark program.txt
      compiler-gym compliance --env llvm-v0
      compiler-gym compliance my_service.py -k fork -k process.exit
      compiler-gym compliance --list
    """  # noqa: D301
    from compiler_gym.compliance import check, select

    rules = select(rule or ())
    if lists:
        print_rules(rules)
        return
    target = _target(
        service,
        env,
        benchmark or (),
        dataset,
        arguments=tuple(argument or ()),
        crash_action=crash_action,
        hang_action=hang_action,
    )
    if not as_json:
        print_target(target)
    results: list[Result] = []
    with progress_bar() as bar:
        task = bar.add_task("rules", total=len(rules))
        for result in check(target, rule or (), time_limit):
            results.append(result)
            bar.advance(task)
            if not as_json:
                print_result(result, verbose)
    print_json(plain(target, results)) if as_json else print_summary(results)
    if any(result.outcome is Outcome.FAILED for result in results):
        raise typer.Exit(1)


def _target(
    service: Path | None,
    env: str | None,
    programs: Sequence[str],
    dataset: str | None,
    **settings: Any,
) -> "Target":
    from compiler_gym.compliance import Target, benchmark_of, benchmarks_of_dataset, target_of_env

    given = {name: value for name, value in settings.items() if value}
    of_dataset = benchmarks_of_dataset(dataset) if dataset else []
    if env is not None:
        target = replace(target_of_env(env, programs), **given)
        if of_dataset:
            target = replace(target, benchmarks=of_dataset)
        target = target if service is None else replace(target, service=service)
    elif service is not None:
        target = Target(service, [*map(benchmark_of, programs), *of_dataset], **given)
    else:
        raise typer.BadParameter("Give the path of a service, or --env.")
    if not target.service.is_file():
        raise FileNotFoundError(f"There is no service {target.service}")
    return target
