"""``compiler-gym optimize``: object files that are smaller than those of ``clang -Oz``."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from compiler_gym.cli.console import print_json, working_on
from compiler_gym.cli.durations import parse_duration
from compiler_gym.cli.interrupts import INTERRUPTED
from compiler_gym.cli.optimize_program import Settings, optimize_program, print_report
from compiler_gym.cli.optimize_summary import print_summary
from compiler_gym.cli.options import PROGRAM_HELP, JsonOption, complete_program, program_uri
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets
from compiler_gym.envs.llvm.datasets.named_datasets import get_llvm_datasets
from compiler_gym.envs.llvm.size.checks import command_check
from compiler_gym.envs.llvm.size.compilation import check_options, options_of_bitcode
from compiler_gym.envs.llvm.size.inputs import Input, known_program
from compiler_gym.envs.llvm.size.optimizer import Objective
from compiler_gym.envs.llvm.size.whole_program import merge_program
from compiler_gym.util.shell_format import plural

_CLANG_OPTIONS = "compiler_gym.clang_options"

Goal = Enum("Goal", {each.value: each.value for each in Objective})


class CommandWithClangOptions(TyperCommand):
    """A command whose words after ``--`` are options of clang."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keeps these words apart."""
        own, rest = args, []
        if "--" in args:
            place = args.index("--")
            own, rest = args[:place], args[place + 1 :]
        ctx.meta[_CLANG_OPTIONS] = rest
        return super().parse_args(ctx, own)


def _seconds(text: str) -> str:
    try:
        parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


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
            help="The object file; of several programs, the folder for these. By default as clang "
            "calls it, in the current folder.",
        ),
    ] = None,
    objective: Annotated[
        Goal, typer.Option(help="What to make small: code, or all that is loaded.")
    ] = Goal.text,
    budget: Annotated[
        str,
        typer.Option(help="Time for each program, such as 60s, 2m or 500ms.", callback=_seconds),
    ] = "60s",
    evaluations: Annotated[
        int | None, typer.Option(min=0, help="How often to run clang with changes, at most.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Compilers at a time.")] = 2,
    check: Annotated[
        str | None,
        typer.Option(help="A command that ends with exit code 0 if the object file {} is right."),
    ] = None,
    whole_program: Annotated[
        bool,
        typer.Option(
            "--whole-program",
            help="All programs are parts of one, which is compiled in one go to one object file.",
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="With --whole-program: what is called from outside. By default main. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Write a script here that makes the object file again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an object file that is smaller than that of clang -Oz.

    clang compiles the program many times, each time with other options and decisions about
    inlining, and the smallest object file is kept: never a larger one than clang makes by itself.
    Options after -- are clang's, such as -DNAME, -Ifolder or -g; among them may be another level
    than -Oz to begin with.

    Ctrl-C ends the search, and writes the best that was found by then.

    \b
    Examples:
      compiler-gym optimize program.c -o program.o
      compiler-gym optimize program.c --check "clang {} -o p && ./p < in | cmp - out"
      compiler-gym optimize src/*.c -o objects --budget 10s -- -Iinclude -DNDEBUG
      compiler-gym optimize src/*.c -o all.o --whole-program -- -Iinclude
    """  # noqa: D301, the mark of a paragraph that is not filled.
    options = context.meta[_CLANG_OPTIONS]
    check_options(options)
    if keep and not whole_program:
        raise typer.BadParameter("--keep is for --whole-program.")
    if script is not None and len(programs) > 1 and not whole_program:
        raise typer.BadParameter("--script is for one program.")
    settings = Settings(
        options=tuple(options),
        objective=Objective(objective.value),
        seconds=parse_duration(budget),
        evaluations=evaluations,
        jobs=jobs,
        check=None if check is None else command_check(check),
        script=script,
        is_quiet=as_json,
    )
    results = []
    if whole_program:
        settings = replace(settings, options=tuple(options_of_bitcode(options)))
        inputs = [_merged(programs, output, options, keep or ["main"], script)]
    else:
        inputs = _inputs(programs, output, script)
    for program, target in inputs:
        results.append(optimize_program(program, target, settings))
        if not results[-1].is_finished:
            break
    if as_json:
        print_json([each.as_json() for each in results])
    elif len(inputs) == 1:
        print_report(results[0])
    else:
        print_summary(results)
    if not results[-1].is_finished:
        raise typer.Exit(INTERRUPTED)


def _inputs(names: list[str], output: Path | None, script: Path | None) -> list[tuple[Input, Path]]:
    """Returns the programs of a command line, each with its object file."""
    if len(names) > 1 and output is not None:
        output.mkdir(parents=True, exist_ok=True)
    elif output is not None and output.is_dir():
        raise IsADirectoryError(f"{output} is a folder: name the object file, as -o {output}/x.o")
    folder = Path() if output is None else output if len(names) > 1 else output.parent
    for path in (folder, *([script.parent] if script else [])):
        if not path.is_dir():
            raise FileNotFoundError(f"There is no folder {path}")
    inputs = [_input(name, folder) for name in names]
    stems = [each.name for each in inputs]
    if twice := sorted({stem for stem in stems if stems.count(stem) > 1}):
        raise typer.BadParameter(f"There are several programs called {', '.join(twice)}.")
    if len(names) == 1 and output is not None:
        return [(inputs[0], output)]
    return [(each, folder / f"{each.name}.o") for each in inputs]


def _merged(
    names: list[str],
    output: Path | None,
    options: list[str],
    keep: list[str],
    script: Path | None,
) -> tuple[Input, Path]:
    """Returns the whole program of a command line, and its object file."""
    (first, target), *_ = _inputs(names[:1], output, script)
    folder = target.parent
    inputs = [first, *(_input(name, folder) for name in names[1:])]
    with working_on(f"compiling {plural(len(inputs), 'part')}"):
        merged = merge_program(inputs, target.with_suffix(".whole.bc"), options, keep)
    return merged, target


def _input(name: str, folder: Path) -> Input:
    uri = program_uri(name)
    if uri.startswith("file://"):
        path = Path(name.removeprefix("file://")).expanduser()
        return Input(path.stem, path)
    return known_program(LlvmDatasets(get_llvm_datasets()), uri, folder)
