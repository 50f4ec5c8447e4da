"""``compiler-gym doctor``."""

import shutil
from typing import Annotated

import typer

from compiler_gym.cli.console import print_json, print_line
from compiler_gym.cli.doctor_checks import Check, Status, all_checks

_NAME_WIDTH = 21


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the installation.

    Shows the parts that are installed and work, and for each other part the command to fix it.

    Makes a step in each environment whose compiler is installed. The exit code is 1 if an installed
    part does not work.

    \b
    Examples:
      compiler-gym doctor           the first lines of a report about a problem
      compiler-gym doctor --json    the same for programs
    """  # noqa: D301
    checks = []
    for check in all_checks():
        checks.append(check)
        if not json:
            _print(check)
    failed = [check.name for check in checks if check.status is Status.FAILED]
    if json:
        print_json({"works": not failed, "checks": [check.as_dict() for check in checks]})
    else:
        verdict = (
            f"Does not work: {', '.join(failed)}." if failed else "All that is installed works."
        )
        print_line(f"\n{verdict}")
    raise typer.Exit(bool(failed))


def _print(check: Check) -> None:
    # Where there is no terminal, lines may be long.
    columns = shutil.get_terminal_size(fallback=(200, 0)).columns
    width = max(columns - _NAME_WIDTH - 8, 40)
    if not check.detail and check.fix:
        print_line(f"{check.status.value:<7} {check.name:<{_NAME_WIDTH - 1}} try: {check.fix}")
        return
    first, *others = check.detail.splitlines() or [""]
    if len(first) > width:
        first = f"{first[: width - 1]}…"
    print_line(f"{check.status.value:<7} {check.name:<{_NAME_WIDTH - 1}} {first}")
    for line in others if check.status is Status.FAILED else []:
        print_line(f"{'':<{_NAME_WIDTH + 7}} {line}")
    if check.fix and check.status is not Status.OK:
        print_line(f"{'':<{_NAME_WIDTH + 7}} try: {check.fix}")
