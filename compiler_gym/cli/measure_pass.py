"""``compiler-gym measure-pass``: measures the benefit of a pass, with confidence intervals.

For each program, random sequences of actions are applied first, as in the middle of an episode. The
cost with the pass is then compared with the cost without it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from compiler_gym.cli.console import print_json, print_line, print_table, progress_bar
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import (
    JsonOption,
    complete_observation,
    complete_program,
    program_uri,
)
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.truncate import truncate

if TYPE_CHECKING:
    from compiler_gym.envs.llvm import LlvmEnv
    from compiler_gym.tuning.pass_measurement import Estimate, Failure, Measurement, Trial

    # The results of the comparisons, by the URI of the program.
    Outcomes = dict[str, list[Trial | Failure]]

_SCHEME = "benchmark://"

# The length of quoted errors. --json has them in full.
_MAX_LINES = 6
_MAX_COLUMNS = 160


def rows_of(outcomes: "Outcomes", seed: int) -> list[dict[str, Any]]:
    """Returns a row for each program, and a last row for all of several programs."""
    tried = {program: each for program, each in outcomes.items() if each}
    rows = [
        _row(program.removeprefix(_SCHEME), each, _saving([_trials(each)], seed))
        for program, each in tried.items()
    ]
    if len(tried) > 1:
        everything = [outcome for each in tried.values() for outcome in each]
        saving = _saving([*map(_trials, tried.values())], seed)
        rows.append(_row("all programs", everything, saving))
    return rows


def _trials(outcomes: "Sequence[Trial | Failure]") -> "list[Trial]":
    from compiler_gym.tuning.pass_measurement import Trial

    return [outcome for outcome in outcomes if isinstance(outcome, Trial)]


def _saving(trials: "list[list[Trial]]", seed: int) -> "Estimate | None":
    """Estimates the saving on one program, or on programs like several; None without trials."""
    import numpy as np

    from compiler_gym.tuning.pass_measurement import estimate_saving, estimate_saving_of_programs

    rng = np.random.default_rng(seed)
    if len(trials) == 1:
        return estimate_saving(trials[0], rng) if trials[0] else None
    return estimate_saving_of_programs(trials, rng) if any(trials) else None


def _row(
    name: str, outcomes: "Sequence[Trial | Failure]", saving: "Estimate | None"
) -> dict[str, Any]:
    from compiler_gym.tuning.pass_measurement import Failure

    trials = _trials(outcomes)
    changed = [each.changed for each in outcomes if each.changed is not None]
    failures = Counter(each.kind for each in outcomes if isinstance(each, Failure))
    bounds = (saving.low, saving.high) if saving and math.isfinite(saving.low) else (None, None)
    return {
        "program": name,
        "prefixes": len(outcomes),
        "changed": sum(changed) / len(changed) if changed else None,
        "saving": saving.mean if saving else None,
        "low": bounds[0],
        "high": bounds[1],
        "run": sum(trial.is_run for trial in trials),
        "failures": dict(failures),
        "verdict": _verdict(failures, saving, any(trial.is_run for trial in trials)),
    }


def _verdict(failures: Counter[str], saving: "Estimate | None", is_run: bool) -> str:
    if failures:
        ((kind, count),) = failures.most_common(1)
        return f"{count} x {kind}"
    verdict = saving.verdict if saving else "not shown"
    # A smaller program may be wrong.
    return verdict if is_run or verdict != "helps" else "helps, not run"


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    has_bounds = row["low"] is not None
    return {
        "program": row["program"],
        "tried": row["prefixes"],
        "changed": "" if row["changed"] is None else f"{row['changed']:.0%}",
        "saving": "" if row["saving"] is None else f"{row['saving']:+.2%}",
        "95% interval": f"{row['low'] * 100:+.2f} to {row['high']:+.2%}" if has_bounds else "",
        "verdict": row["verdict"],
    }


def failures_of(outcomes: "Outcomes", names: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the failures of the pass, each with the names of the actions before it."""
    from compiler_gym.tuning.pass_measurement import Failure

    return [
        {
            "program": failure.benchmark.removeprefix(_SCHEME),
            "kind": failure.kind,
            "after": [names[action] for action in failure.prefix],
            "details": failure.details,
        }
        for each in outcomes.values()
        for failure in each
        if isinstance(failure, Failure)
    ]


def _print_failures(failures: list[dict[str, Any]]) -> None:
    """Prints one failure of each kind, that after the fewest actions."""
    by_kind: dict[str, dict[str, Any]] = {}
    for failure in sorted(failures, key=lambda each: len(each["after"])):
        by_kind.setdefault(failure["kind"], failure)
    for kind, failure in by_kind.items():
        after = ", ".join(failure["after"]) or "nothing"
        said = truncate(failure["details"], max_line_len=_MAX_COLUMNS, max_lines=_MAX_LINES)
        print_line(f"\n{kind} on {failure['program']}, after {after}:\n{said}")


def _actions(env: "LlvmEnv", names: str) -> list[int]:
    """Returns the actions that a text names: a pipeline or a single name."""
    return env.action_space.from_string(names) if names else []


def _measure_all(
    env: "LlvmEnv",
    programs: Sequence[str],
    outcomes: "Outcomes",
    unusable: Failures,
    progress: Progress,
    seed: int,
    prefixes: int,
    measurement: "Measurement",
) -> None:
    """Fills in the outcomes, program by program."""
    import numpy as np

    from compiler_gym.tuning.pass_measurement import measure_trials

    task = progress.add_task("", total=len(programs) * prefixes)
    for number, program in enumerate(programs):
        progress.update(task, description=program)
        # Programs are independent: a selection gives the same numbers.
        rng = np.random.default_rng([seed, *program.encode()])
        outcomes[program] = []
        with unusable.noted(program):
            for outcome in measure_trials(env, program, measurement, prefixes, rng):
                outcomes[program].append(outcome)
                progress.update(task, advance=1)
        progress.update(task, completed=(number + 1) * prefixes)


def measure(
    passes: Annotated[str, typer.Argument(help="The pass to measure, or a pipeline of passes.")],
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="A plugin of opt with the pass: FILE.so or FILE.so:pass,pass."),
    ] = None,
    then: Annotated[
        str, typer.Option(help="Passes to run afterwards in both cases, e.g. 'instcombine,dce'.")
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
            help="The numeric observation to reduce.",
            autocompletion=complete_observation,
        ),
    ] = "IrInstructionCount",
    prefixes: Annotated[int, typer.Option(min=1, help="Comparisons for each program.")] = 20,
    max_prefix: Annotated[
        int, typer.Option(min=0, help="Maximum number of random actions before the pass.")
    ] = 20,
    action_space: Annotated[
        str, typer.Option(help="The action space of the random actions.")
    ] = "PassesAll",
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Time limit in seconds for the pass and those after it.")
    ] = 60,
    runs: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of changed versions of each program to run, to compare the output.",
        ),
    ] = 2,
    seed: Annotated[
        int, typer.Option(min=0, help="The seed. The same seed repeats a run exactly.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure the benefit of a pass.

    Random passes are applied first, as in the middle of an episode. The result of the pass is
    verified. Programs with expected outputs are run. Ctrl-C prints the measurements so far. The
    exit code is 1 if the pass crashed, took too long, left invalid IR or broke a program, or if a
    program cannot be compiled without it.

    \b
    Examples:
      compiler-gym measure-pass gvn
      compiler-gym measure-pass mul-to-shift --plugin MulToShift.so --then instcombine
      compiler-gym measure-pass sroa --program program.c --cost ObjectTextSizeBytes
    """  # noqa: D301
    from compiler_gym.envs.llvm import LlvmEnv
    from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS
    from compiler_gym.tuning.pass_measurement import Measurement

    outcomes: Outcomes = {}
    names: list[str] = []
    unusable = Failures(len(program or ()))
    is_interrupted = False
    try:
        with LlvmEnv(action_space=action_space, pass_plugins=plugin or ()) as env:
            _check_cost(env, cost)
            names = env.action_space.names
            programs = [*map(program_uri, program or ())]
            programs = programs or [*env.datasets[KERNELS].benchmark_uris()]
            measurement = Measurement(
                measured=_actions(env, passes),
                clean_up=_actions(env, then),
                cost=cost,
                max_prefix=max_prefix,
                timeout=timeout,
                runs=runs,
            )
            with progress_bar() as progress:
                _measure_all(
                    env, programs, outcomes, unusable, progress, seed, prefixes, measurement
                )
    except KeyboardInterrupt:
        is_interrupted = True
    failures = failures_of(outcomes, names)
    _print(rows_of(outcomes, seed), failures, f"Savings of {passes} in {cost}", as_json)
    unusable.print()
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if failures or unusable.reasons:
        raise typer.Exit(1)


def _print(
    rows: list[dict[str, Any]], failures: list[dict[str, Any]], title: str, as_json: bool
) -> None:
    if as_json:
        print_json({"rows": rows, "failures": failures})
    elif rows:
        *programs_rows, total = map(_as_text, rows)
        if programs_rows:
            print_table(programs_rows, title, total)
        else:
            print_table([total], title)
            print_line("\nOne program says nothing of others. Without --program, all are measured.")
        _print_failures(failures)


def _check_cost(env: "LlvmEnv", cost: str) -> None:
    # By their spaces, because the default values of some observations are slow to compute.
    from compiler_gym.spaces import Scalar

    costs = [
        name
        for name, spec in env.observation.spaces.items()
        if isinstance(spec.space, Scalar) and spec.space.dtype.kind != "b"
    ]
    if cost not in costs:
        raise unknown_name("cost", cost, costs)
