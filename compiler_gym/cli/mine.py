"""``compiler-gym mine``: looks for missed optimisations of LLVM, and explains them."""

import math
import re
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.console import messages, print_json, print_line, print_table, working_on
from compiler_gym.cli.options import JsonOption, complete_program, program_uris
from compiler_gym.cli.pool_options import RayOption, command_pool
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.mine.objective import Objective
from compiler_gym.mine.runtime import RUNTIME
from compiler_gym.mine.size import SIZE
from compiler_gym.mine.work import Settings
from compiler_gym.tuning.size.compile_commands import FILE_NAME
from compiler_gym.util import llvm_tools as tools
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import plural

if TYPE_CHECKING:
    from compiler_gym.datasets import Datasets
    from compiler_gym.mine.decisions import Decision, Tools
    from compiler_gym.mine.findings import Finding
    from compiler_gym.mine.miner import Mine
    from compiler_gym.mine.programs import Program

_PROGRAMS = ("kernels-v0",)
_MAX_ROWS = 25
_OBJECTIVES: dict[str, Objective] = {each.name: each for each in (SIZE, RUNTIME)}


class Goal(str, Enum):
    """The names of objectives."""

    SIZE = "size"
    RUNTIME = "runtime"


def mine(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Datasets, such as kernels-v0, programs: URIs or files, and {FILE_NAME} files. "
            f"By default: {' '.join(_PROGRAMS)}.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        Goal,
        typer.Option(
            help="size: fewer bytes than clang -Oz. runtime: fewer executed instructions than "
            "clang -O3, and then the time is measured."
        ),
    ] = Goal.SIZE,
    output_folder: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder for findings. An old one continues."),
    ] = Path("mine"),
    jobs: Annotated[int, typer.Option(min=1, help="Number of compilers at a time.")] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of programs of each argument.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Time after which no reduction starts. No program starts after half of it.",
        ),
    ] = None,
    min_bytes: Annotated[
        int,
        typer.Option(min=1, help="Minimum bytes that a decision saves in a function."),
    ] = SIZE.least,
    min_percent: Annotated[
        int,
        typer.Option(
            min=1,
            max=99,
            help="For runtime: minimum percentage of executed instructions that a decision saves "
            "in a function.",
        ),
    ] = RUNTIME.least,
    per_decision: Annotated[
        int, typer.Option(min=0, help="Functions to reduce for each decision; 0 only measures.")
    ] = Settings.per_decision,
    reduce_seconds: Annotated[
        float, typer.Option(min=1, help="Time limit of each reduction.")
    ] = Settings.reduce_seconds,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Try this decision only, e.g. 'without licm'. May be repeated."),
    ] = None,
    other_llvm: Annotated[
        list[Path] | None,
        typer.Option(
            help="The folder of another LLVM with bin/clang and bin/opt, for the reports. May be "
            "repeated. Those in /usr/lib/llvm-* are found.",
            show_default=False,
        ),
    ] = None,
    ray: RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for missed optimisations of LLVM, and explain them.

    Compiles each program with clang -Oz and single decisions: an option, a pass left out, a pass
    run first or once more. A function that is smaller with a decision is extracted and reduced, as
    long as the decision saves bytes. The result is checked: savings due to undefined behaviour do
    not count. Each finding is a folder with a bug report, the IR, and a script that reproduces it.

    With --objective runtime, it compares with clang -O3, and calls each function with random
    inputs. A decision counts if the function executes fewer instructions. The time of the reduced
    function is measured, too. That needs an x86-64 machine.

    With --ray, the nodes of a cluster compile and reduce, and findings come here. Nodes need clang,
    opt and llvm-reduce of the same version. --jobs does not count then.

    Ctrl-C ends the command, and the same command continues. The exit code is 0 even if there are
    findings, and 1 if a program cannot be compiled.

    \b
    Examples:
      compiler-gym mine
      compiler-gym mine sha256 --only "without licm"
      compiler-gym mine sorting --objective runtime
      compiler-gym mine build/compile_commands.json --jobs 2
      compiler-gym mine opensource-v0 --limit 20 --seconds 600
      compiler-gym mine opensource-v0 --ray auto
    """  # noqa: D301, the mark of a paragraph that is not filled.
    from compiler_gym.distributed.pool import Limits as PoolLimits
    from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
    from compiler_gym.mine.decisions import Tools
    from compiler_gym.mine.miner import Mine
    from compiler_gym.mine.tasks import mine_on_pool, task_seconds

    datasets = LlvmDatasets(get_llvm_datasets())
    goal = _OBJECTIVES[objective.value]
    goal.check_machine()
    own = Tools.of(tools.clang_path(), tools.opt_path(), goal.level)
    settings = Settings(
        objective=goal,
        decisions=_decisions(only, goal),
        tools=own,
        versions=_versions(own, other_llvm or []),
        least=min_bytes if goal is SIZE else min_percent,
        per_decision=per_decision,
        reduce_seconds=reduce_seconds,
        seconds=math.inf if seconds is None else seconds,
    )
    with working_on("looking for programs"):
        found = _programs(programs or [*_PROGRAMS], datasets, limit)
    screen = messages()
    session = Mine(
        output_folder, datasets, settings, lambda text: screen.print(text, soft_wrap=True)
    )
    is_interrupted = False
    try:
        if ray is None:
            with working_on("mining"):
                session.run(found, jobs)
        else:
            with command_pool(ray, PoolLimits(task_seconds=task_seconds(settings))) as pool:
                mine_on_pool(session, pool, found)
    except KeyboardInterrupt:
        is_interrupted = True
    _print_results(session, as_json)
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if session.failed:
        raise typer.Exit(1)


def _decisions(only: list[str] | None, objective: Objective) -> "list[Decision]":
    """Returns the decisions to try.

    Raises:
        LookupError: If one is not known.
    """
    known = {each.title: each for each in objective.known_decisions()}
    for title in only or ():
        if title not in known:
            raise unknown_name("decision", title, known)
    return [known[title] for title in only or known]


def _programs(names: list[str], datasets: "Datasets", limit: int | None) -> "list[Program]":
    from compiler_gym.mine.programs import Program, programs_of_project

    found: dict[Program, None] = {}
    for name in names:
        path = Path(name).expanduser()
        if path.suffix == ".json":
            if not path.is_file():
                raise FileNotFoundError(
                    f"expected a {FILE_NAME}, got {name}, which is not there; "
                    "try cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or bear -- make"
                )
            programs = programs_of_project(path)
        else:
            programs = [*map(Program, program_uris(datasets, [name], limit))]
        found |= dict.fromkeys(programs[:limit])
    return [*found]


def _versions(own: "Tools", folders: list[Path]) -> "dict[str, Tools]":
    """Returns the LLVMs that reports name, by their version, the own one first."""
    from compiler_gym.mine.decisions import Tools

    found = {_version(tools.clang_path()): own}
    for folder in folders:
        if not (folder / "bin" / "clang").is_file():
            raise FileNotFoundError(
                f"expected the folder of an LLVM, got {folder}, which has no bin/clang; "
                "try a folder such as /usr/lib/llvm-19"
            )
    for folder in [*folders, *sorted(Path("/usr/lib").glob("llvm-*"))]:
        clang, opt = folder / "bin" / "clang", folder / "bin" / "opt"
        if clang.is_file() and opt.is_file():
            found.setdefault(_version(clang), Tools.of(clang, opt, own.level))
    return found


def _version(clang: Path) -> str:
    match = re.search(r"version (\d+\.\d+\.\d+)", tools.tool_version(clang))
    return f"LLVM {match[1]}" if match else str(clang)


def _row(finding: "Finding", objective: Objective) -> dict[str, Any]:
    return {
        "finding": finding.name,
        "lines": finding.lines,
        objective.unit: f"{finding.before} → {finding.after}",
        "seen": len(finding.members),
        "inputs": re.split(":| random", finding.checks.get("inputs", ""))[0],
        **objective.columns(finding.checks),
    }


def _print_results(session: "Mine", as_json: bool) -> None:
    table, findings = session.table(), session.ranked()
    objective = session.settings.objective
    if as_json:
        print_json(
            {
                "programs": len(session.scanned),
                objective.unit: sum(each.size for each in session.scanned),
                "failed": session.failed,
                "skipped": session.skipped,
                "decisions": [asdict(row) for row in table],
                "verdicts": session.verdicts,
                "bogus": session.why_bogus,
                "findings": [asdict(finding) for finding in findings],
            }
        )
        return
    if table:
        rows = [{**asdict(row), "share": f"{row.share:.2%}"} for row in table[:_MAX_ROWS]]
        print_table(rows, objective.heading)
        print_line()
    if findings:
        print_table([_row(each, objective) for each in findings])
        print_line()
    for name, why in session.failed.items():
        print_line(f"{name}: {why}")
    if session.skipped:
        print_line(f"No time for {plural(session.skipped, 'program')}: the same command goes on")
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in session.verdicts.items())
    size = sum(each.size for each in session.scanned)
    print_line(
        f"{plural(len(session.scanned), 'program')}, {size:,} {objective.total}, "
        f"{plural(len(findings), 'finding')}" + (f"; functions: {verdicts}" if verdicts else "")
    )
