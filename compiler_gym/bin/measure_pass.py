"""Measures whether a pass helps, on which programs, by how much, and how sure that is.

For each program, random sequences of actions are applied first, as a player would meet the program
in the middle of a game. The cost with the pass is then compared with the cost without it.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.pass_measurement import (
    Estimate,
    Trial,
    estimate_saving,
    estimate_saving_of_programs,
    measure_trials,
)
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.spaces import Scalar

INTERRUPTED = 130
_SCHEME = "benchmark://"
_SUITE = "benchmark://kernels-v0"


def make_table(title: str, trials: dict[str, list[Trial]], seed: int) -> Table:
    """Returns the table of all programs that have been measured."""
    table = Table(title=title)
    table.add_column("program", no_wrap=True)
    for heading in ("prefixes", "changed", "mean saving", "95% interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    measured = {program: each for program, each in trials.items() if each}
    for program, each in measured.items():
        changed = sum(trial.changed for trial in each) / len(each)
        saving = estimate_saving(each, np.random.default_rng(seed))
        name = program.removeprefix(_SCHEME)
        table.add_row(name, str(len(each)), f"{changed:.0%}", *_cells(saving))
    if measured:
        total = estimate_saving_of_programs([*measured.values()], np.random.default_rng(seed))
        everything = [trial for each in measured.values() for trial in each]
        changed = sum(trial.changed for trial in everything) / len(everything)
        table.add_section()
        table.add_row("all programs", str(len(everything)), f"{changed:.0%}", *_cells(total))
    return table


def _cells(estimate: Estimate) -> tuple[str, str, str]:
    interval = f"{estimate.low:+.2%} to {estimate.high:+.2%}"
    return f"{estimate.mean:+.2%}", interval, estimate.verdict


def _actions(env: LlvmEnv, names: str) -> list[int]:
    """Returns the actions of a text, a pipeline or a single name."""
    return env.action_space.from_string(names) if names else []


def _measure_all(
    env: LlvmEnv,
    programs: Sequence[str],
    trials: dict[str, list[Trial]],
    progress: Progress,
    seed: int,
    prefixes: int,
    **settings,
) -> None:
    """Fills in the trials, program by program."""
    task = progress.add_task("", total=len(programs) * prefixes)
    for number, program in enumerate(programs):
        progress.update(task, description=program)
        # Programs are independent of each other: a selection of them gives the same numbers.
        rng = np.random.default_rng([seed, *program.encode()])
        trials[program] = []
        for trial in measure_trials(env, program, prefixes=prefixes, rng=rng, **settings):
            trials[program].append(trial)
            progress.update(task, advance=1)
        progress.update(task, completed=(number + 1) * prefixes)


def measure(
    passes: Annotated[
        str, typer.Argument(help="The pass to measure, or a pipeline of several, as one.")
    ],
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="A plugin of opt with the pass: FILE.so or FILE.so:pass,pass."),
    ] = None,
    then: Annotated[
        str, typer.Option(help="Passes done afterwards in both cases, e.g. 'instcombine,dce'.")
    ] = "",
    program: Annotated[
        list[str] | None,
        typer.Option(help="A program, by URI. By default all of benchmark://kernels-v0."),
    ] = None,
    cost: Annotated[
        str, typer.Option(help="A numeric observation of which less is better.")
    ] = "IrInstructionCount",
    prefixes: Annotated[int, typer.Option(min=1, help="Comparisons for each program.")] = 20,
    max_prefix: Annotated[
        int, typer.Option(min=0, help="The most actions before the pass; drawn from 0 on.")
    ] = 20,
    action_space: Annotated[
        str, typer.Option(help="The space that the actions before are drawn from.")
    ] = "PassesAll",
    seed: Annotated[int, typer.Option(min=0, help="Repeats a run exactly.")] = 0,
) -> None:
    """Measures whether a pass helps: on which programs, by how much, and how sure that is."""
    console = Console()
    trials: dict[str, list[Trial]] = {}
    status = 0
    try:
        with LlvmEnv(action_space=action_space, pass_plugins=plugin or ()) as env:
            _check_cost(env, cost)
            programs = program or [*env.datasets[_SUITE].benchmark_uris()]
            settings = {
                "measured": _actions(env, passes),
                "clean_up": _actions(env, then),
                "cost": cost,
                "max_prefix": max_prefix,
            }
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            screen = Console(stderr=True)
            # In a file, a bar is but an empty line.
            silent = not screen.is_terminal
            with Progress(*columns, console=screen, transient=True, disable=silent) as progress:
                _measure_all(env, programs, trials, progress, seed, prefixes, **settings)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except (LookupError, ValueError, OSError, ServiceError, BenchmarkInitError) as error:
        print(f"measure_pass: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    console.print(make_table(f"What {passes} saves of {cost}", trials, seed))
    raise typer.Exit(status)


def _check_cost(env: LlvmEnv, cost: str) -> None:
    # By their spaces: the default values of some observations take long to make.
    costs = [
        name
        for name, spec in env.observation.spaces.items()
        if isinstance(spec.space, Scalar) and spec.space.dtype.kind != "b"
    ]
    if cost not in costs:
        raise ValueError(f"There is no cost {cost!r}. There are: {', '.join(costs)}")


def main() -> None:
    """Runs the program."""
    typer.run(measure)


if __name__ == "__main__":
    main()
