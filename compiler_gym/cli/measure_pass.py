"""``compiler-gym measure-pass``: whether a pass helps, on which programs, and how sure that is.

For each program, random sequences of actions are applied first, as a player would meet the program
in the middle of a game. The cost with the pass is then compared with the cost without it.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import Progress

from compiler_gym.cli.console import print_json, print_table, progress_bar
from compiler_gym.cli.interrupts import INTERRUPTED
from compiler_gym.cli.options import (
    JsonOption,
    complete_observation,
    complete_program,
    program_uri,
)
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.pass_measurement import (
    Estimate,
    Trial,
    estimate_saving,
    estimate_saving_of_programs,
    measure_trials,
)
from compiler_gym.spaces import Scalar
from compiler_gym.util.nearest_names import unknown_name

_SCHEME = "benchmark://"
_SUITE = "benchmark://kernels-v0"


def rows_of(trials: dict[str, list[Trial]], seed: int) -> list[dict[str, Any]]:
    """Returns what was measured of each program, and of all together, the last."""
    measured = {program: each for program, each in trials.items() if each}
    rows = [
        _row(
            program.removeprefix(_SCHEME), each, estimate_saving(each, np.random.default_rng(seed))
        )
        for program, each in measured.items()
    ]
    if measured:
        total = estimate_saving_of_programs([*measured.values()], np.random.default_rng(seed))
        everything = [trial for each in measured.values() for trial in each]
        rows.append(_row("all programs", everything, total))
    return rows


def _row(name: str, trials: list[Trial], saving: Estimate) -> dict[str, Any]:
    return {
        "program": name,
        "prefixes": len(trials),
        "changed": sum(trial.changed for trial in trials) / len(trials),
        "saving": saving.mean,
        "low": saving.low,
        "high": saving.high,
        "verdict": saving.verdict,
    }


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "program": row["program"],
        "prefixes": row["prefixes"],
        "changed": f"{row['changed']:.0%}",
        "mean saving": f"{row['saving']:+.2%}",
        "95% interval": f"{row['low']:+.2%} to {row['high']:+.2%}",
        "verdict": row["verdict"],
    }


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
    **settings: Any,
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
        typer.Option(
            help="A file, a built-in program or a URI. By default all of benchmark://kernels-v0.",
            autocompletion=complete_program,
        ),
    ] = None,
    cost: Annotated[
        str,
        typer.Option(
            help="A numeric observation of which less is better.",
            autocompletion=complete_observation,
        ),
    ] = "IrInstructionCount",
    prefixes: Annotated[int, typer.Option(min=1, help="Comparisons for each program.")] = 20,
    max_prefix: Annotated[
        int, typer.Option(min=0, help="The most actions before the pass; drawn from 0 on.")
    ] = 20,
    action_space: Annotated[
        str, typer.Option(help="The space that the actions before are drawn from.")
    ] = "PassesAll",
    seed: Annotated[int, typer.Option(min=0, help="Repeats a run exactly.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure whether a pass helps, and how much.

    Random passes are applied first, as a player would meet the program in the middle of a game.
    Ctrl-C ends it, and prints what has been measured by then.

    \b
    Examples:
      compiler-gym measure-pass gvn
      compiler-gym measure-pass mul-to-shift --plugin MulToShift.so --then instcombine
      compiler-gym measure-pass sroa --program program.c --cost ObjectTextSizeBytes
    """  # noqa: D301
    trials: dict[str, list[Trial]] = {}
    is_interrupted = False
    try:
        with LlvmEnv(action_space=action_space, pass_plugins=plugin or ()) as env:
            _check_cost(env, cost)
            programs = [*map(program_uri, program or ())]
            programs = programs or [*env.datasets[_SUITE].benchmark_uris()]
            settings = {
                "measured": _actions(env, passes),
                "clean_up": _actions(env, then),
                "cost": cost,
                "max_prefix": max_prefix,
            }
            with progress_bar() as progress:
                _measure_all(env, programs, trials, progress, seed, prefixes, **settings)
    except KeyboardInterrupt:
        is_interrupted = True
    rows = rows_of(trials, seed)
    if as_json:
        print_json(rows)
    elif rows:
        *programs_rows, total = map(_as_text, rows)
        print_table(programs_rows, f"What {passes} saves of {cost}", total)
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_cost(env: LlvmEnv, cost: str) -> None:
    # By their spaces: the default values of some observations take long to make.
    costs = [
        name
        for name, spec in env.observation.spaces.items()
        if isinstance(spec.space, Scalar) and spec.space.dtype.kind != "b"
    ]
    if cost not in costs:
        raise unknown_name("cost", cost, costs)
