"""``compiler-gym optimize``: object files smaller or faster than clang's."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.app import clang_options
from compiler_gym.cli.console import messages
from compiler_gym.cli.options import (
    PROGRAM_HELP,
    DropWeakOption,
    JsonOption,
    complete_policy,
    complete_program,
    parse_duration,
)
from compiler_gym.cli.pool_options import RayOption
from compiler_gym.tuning.size.compilation import check_options, options_of_bitcode
from compiler_gym.tuning.size.compile_commands import FILE_NAME
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.safety import MAX_STACK_GROWTH, Kind, limits_of
from compiler_gym.util.environment_variables import PREFIX, UNIT_SETTINGS, check_names
from compiler_gym.util.llvm_tools import tool_path
from compiler_gym.util.shell_format import plural

_EVALUATIONS = 120  # Without a time limit, a search has the same result on all machines.
_RUNTIME_SECONDS = 60.0

_RUNTIME = "runtime"
_REGION = f"{Objective.REGION.value}:"
_GOALS = (*(each.value for each in Objective if each is not Objective.REGION), _RUNTIME)


def _seconds(text: str | None) -> str | None:
    try:
        if text is not None:
            parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


def _goal(text: str) -> str:
    if text in _GOALS or text.removeprefix(_REGION) not in ("", text):
        return text
    raise typer.BadParameter(f"expected {', '.join(_GOALS)} or {_REGION}NAME, got {text!r}.")


def _complete_goal(incomplete: str) -> list[str]:
    return [each for each in (*_GOALS, _REGION) if each.startswith(incomplete)]


def optimize(
    context: typer.Context,
    programs: Annotated[
        list[str],
        typer.Argument(help=PROGRAM_HELP, autocompletion=complete_program, show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The object file; with several programs, the folder of the object files. By "
            "default, the current folder and clang's name; for a project, the folder optimized.",
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar=f"<{'|'.join(_GOALS)}|{_REGION}NAME>",
            callback=_goal,
            autocompletion=_complete_goal,
            help="The size to reduce: all bytes loaded, bytes of code, bytes of the linked "
            "program, machine instructions, or the use of a region of memory, such as "
            f"{_REGION}FLASH. runtime makes the program faster.",
        ),
    ] = Objective.ALL.value,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time limit for each program, such as 60s, 2m or 500ms, with the time to leave "
            "parts out and to measure them for --html. By default none; 60s for runtime.",
            callback=_seconds,
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Maximum number of runs of clang with changes. By default 120; no limit for "
            "runtime.",
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Number of parallel compilers.")
    ] = 2,
    policy: Annotated[
        str | None,
        typer.Option(
            help="A learned policy whose passes are tried first: a name (see eval) or a file.",
            autocompletion=complete_policy,
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(help="A command whose exit code is 0 if the object file {} is correct."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            help="For --objective runtime and --max-slowdown: a command that runs the program {}. "
            "Its output must be the same each time."
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            help="For runtime, linked, region and --max-slowdown: a command that links the object "
            "file {} to the program $PROGRAM. By default clang links it."
        ),
    ] = None,
    max_slowdown: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Maximum run time of the program, as a multiple of that with clang's object "
            "file, such as 1.1. Built-in programs have inputs, others need --run.",
            show_default=False,
        ),
    ] = None,
    whole_program: Annotated[
        bool,
        typer.Option(
            "--whole-program",
            help="Compile all programs together, to one object file.",
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="With --whole-program: a function that other code calls. By default main. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Write a script that reproduces the object files.")
    ] = None,
    experimental: Annotated[
        bool,
        typer.Option(
            "--experimental/--safe",
            help="Also use options that LLVM never turns on by itself for x86-64.",
        ),
    ] = False,
    drop_weak_symbols: DropWeakOption = False,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory/--no-memory",
            help="Start from the decisions for an earlier version of an edited source.",
        ),
    ] = True,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="A function or a source that is left as it is. May be repeated.",
            show_default=False,
        ),
    ] = None,
    exclude_from: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file with functions and sources to exclude, one in a line.",
            show_default=False,
        ),
    ] = None,
    no_frame_pointers: Annotated[
        bool, typer.Option("--no-frame-pointers", help="Give no function a frame pointer.")
    ] = False,
    no_functions: Annotated[
        bool, typer.Option("--no-functions", help="Adjust no single function.")
    ] = False,
    no_calls: Annotated[
        bool, typer.Option("--no-calls", help="Leave decisions about calls to clang.")
    ] = False,
    no_options: Annotated[
        bool, typer.Option("--no-options", help="Use no options that apply to all functions.")
    ] = False,
    max_stack_growth: Annotated[
        int,
        typer.Option(min=0, help="The bytes by which each stack frame may grow."),
    ] = MAX_STACK_GROWTH,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write an HTML page about the result: maps of the bytes, the assembly, and the "
            "bytes that each option saves."
        ),
    ] = None,
    ray: RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make object files smaller or faster than those of clang.

    They are smaller than with clang -Oz, or faster than with clang -O3.

    clang compiles the program many times, with other options and inlining decisions. The smallest
    object file is kept, never a larger one than that of plain clang. Options after -- go to clang,
    such as -DNAME, -Ifolder, -g, or another level to start from.

    With --objective runtime, the program and that of clang run in turns. Without a proven speedup,
    the object file is that of clang. With --objective linked, all programs are linked to one by
    --link. With --objective instructions, machine instructions count. The command search reduces IR
    instructions.

    With --objective region:FLASH, the linked program uses less of this region of its linker script.
    If a program does not fit with clang -Oz, the search ends as soon as it does.

    compile_commands.json stands for all sources of a project, each with the options of its build
    but -Oz. --jobs is then the number of parallel sources, and --ray uses the nodes of a cluster.

    Ctrl-C ends the search, and writes the best result so far.

    \b
    Examples:
      compiler-gym optimize program.c -o program.o
      compiler-gym optimize program.c --check "clang {} -o p && ./p < in | cmp - out"
      compiler-gym optimize src/*.c -o objects --budget 10s -- -Iinclude -DNDEBUG
      compiler-gym optimize src/*.c -o all.o --whole-program -- -Iinclude
      compiler-gym optimize program.c --objective runtime --run "{} < in.txt"
      compiler-gym optimize build/compile_commands.json -o objects --jobs 8
    """  # noqa: D301, the mark of a paragraph that is not filled.
    from compiler_gym.cli.optimize_program import Settings
    from compiler_gym.cli.optimize_project import optimize_project
    from compiler_gym.cli.optimize_several import (
        make_fast,
        make_small,
        merged_input,
        named_inputs,
        slowdown_limits,
    )
    from compiler_gym.cli.optimize_speed import speed_options
    from compiler_gym.tuning.size.inputs import command_check
    from compiler_gym.tuning.size.linking import Linker

    check_names(os.environ)
    _tell_of_unread_variables()
    options = clang_options(context)
    check_options(options)
    goal, _, region = objective.partition(":")
    _check_flags(goal, run, link, max_slowdown, whole_program, keep)
    is_for_speed = goal == _RUNTIME
    is_project = Path(programs[0]).suffix == ".json"
    if is_project:
        _check_project(
            programs,
            **{
                "--policy": policy,
                "--check": check,
                "--run": run,
                "--link": link,
                "--max-slowdown": max_slowdown,
                "--whole-program": whole_program,
                "--script": script,
                "--html": html,
                f"--objective {objective}": is_for_speed or Objective(goal).is_linked,
            },
        )
    elif ray is not None:
        raise typer.BadParameter(
            f"--ray is for all sources of a project; try {FILE_NAME} in place of {programs[0]}."
        )
    _check_html(html, len(programs), goal, whole_program)
    if policy is not None and is_for_speed:
        raise typer.BadParameter("--policy is for programs that are to be small.")
    default = _RUNTIME_SECONDS if is_for_speed else math.inf
    without = {
        Kind.FRAME_POINTERS: no_frame_pointers,
        Kind.FUNCTIONS: no_functions,
        Kind.CALLS: no_calls,
        Kind.OPTIONS: no_options,
    }
    learned = None
    if policy is not None:
        from compiler_gym.tuning.policies.policy import Policy

        learned = Policy.load(policy)
    settings = Settings(
        options=tuple(speed_options(options) if is_for_speed else options),
        objective=None if is_for_speed else Objective(goal),
        seconds=parse_duration(budget) if budget else default,
        evaluations=_EVALUATIONS if evaluations is None and not is_for_speed else evaluations,
        jobs=jobs,
        policy=learned,
        check=None if check is None else command_check(check),
        linker=Linker(link, region=region),
        with_experimental=experimental,
        with_memory=memory,
        may_drop_weak=drop_weak_symbols,
        with_page=html is not None,
        is_quiet=as_json,
        limits=limits_of(
            exclude or (),
            exclude_from or (),
            [kind for kind, is_excluded in without.items() if is_excluded],
            max_stack_growth,
        ),
    )
    if is_project:
        folder = output or Path("optimized")
        if code := optimize_project(Path(programs[0]), folder, settings, ray, as_json):
            raise typer.Exit(code)
        return
    others = [each for each in (script, html) if each is not None]
    if whole_program:
        merged = merged_input(programs, output, others, settings, keep or ["main"])
        settings = replace(settings, options=tuple(options_of_bitcode(settings.options)))
        inputs = [merged]
    else:
        inputs = named_inputs(programs, output, others, settings)
    if is_for_speed:
        code = make_fast(inputs, settings, run, script, as_json)
    else:
        limits = slowdown_limits(inputs, max_slowdown, run, link)
        code = make_small(inputs, settings, limits, script, as_json, html)
    if code:
        raise typer.Exit(code)


def _check_project(programs: Sequence[str], **flags: object) -> None:
    """Checks that nothing is asked for that is about one program."""
    if len(programs) > 1:
        raise typer.BadParameter(
            f"expected {FILE_NAME} alone, got {plural(len(programs), 'argument')}."
        )
    for flag, value in flags.items():
        if value:
            raise typer.BadParameter(
                f"{flag} is for programs that are named one by one, got {programs[0]}."
            )


def _tell_of_unread_variables() -> None:
    for name in UNIT_SETTINGS:
        if name in os.environ:
            option = name.removeprefix(PREFIX).lower().replace("_", "-")
            messages().print(f"{name} is for compiler-gym-cc only: try --{option} here")


def _check_flags(
    goal: str,
    run: str | None,
    link: str | None,
    max_slowdown: float | None,
    whole_program: bool,
    keep: list[str] | None,
) -> None:
    """Checks that flags are compatible."""
    if keep and not whole_program:
        raise typer.BadParameter("--keep is for --whole-program.")
    if max_slowdown is not None and goal == _RUNTIME:
        raise typer.BadParameter("--max-slowdown is for programs that are to be small.")
    is_run = goal == _RUNTIME or max_slowdown is not None
    if run is not None and not is_run:
        raise typer.BadParameter(
            "--run is for --objective runtime and --max-slowdown. What runs a program to check it "
            "is --check."
        )
    is_linked = goal != _RUNTIME and Objective(goal).is_linked
    if link is not None and not is_run and not is_linked:
        raise typer.BadParameter(
            "--link is for --objective runtime, --objective linked, --objective region:NAME and "
            "--max-slowdown."
        )
    if link is None and goal == Objective.REGION.value:
        raise typer.BadParameter(
            "--objective region:NAME needs --link, a command with the linker script, such as "
            "--link 'clang -T firmware.ld {} -o $PROGRAM'."
        )
    if link is not None and not is_linked and run is None:
        raise typer.BadParameter("--link needs --run, which says how to run what is linked.")
    if link is not None and "{}" not in link:
        raise typer.BadParameter("--link has no {}, which stands for the object files.")


def _check_html(html: Path | None, count: int, goal: str, whole_program: bool) -> None:
    """Checks the settings for the page."""
    from compiler_gym.tuning.size.html_report import REQUIRED_TOOLS

    if html is None:
        return
    if goal == _RUNTIME:
        raise typer.BadParameter("--html is for programs that are to be small.")
    if goal == Objective.REGION.value:
        raise typer.BadParameter(
            "--html shows programs that link, got a region that may be too small: try --objective "
            "linked."
        )
    if count > 1 and not whole_program:
        raise typer.BadParameter(
            "--html is for one program, got several: optimize them one by one, or try "
            "--whole-program."
        )
    for tool in REQUIRED_TOOLS:
        tool_path(tool)  # Fail before the search, not after it.
