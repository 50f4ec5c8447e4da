"""``compiler-gym eval`` for models and functions, which choose action by action."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from compiler_gym.cli.console import print_json, print_line, print_table, progress_bar
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import program_name
from compiler_gym.evaluation import Evaluation, evaluate, load_policy
from compiler_gym.evaluation.policies import PredictingPolicy, imported
from compiler_gym.evaluation.rows import WRONG
from compiler_gym.util.statistics import arithmetic_mean, geometric_mean


@dataclass(frozen=True)
class ModelOptions:
    """The settings of the episodes.

    Attributes:
        env: The id of the environment.
        wrappers: Names of wrappers, ``module:attribute``, the innermost first.
        seeds: Number of episodes of each program.
        steps: The limit of steps of an episode.
        check: Run programs, and compare their output.
    """

    env: str
    wrappers: Sequence[str]
    seeds: int
    steps: int
    check: bool


def is_model(policy: str) -> bool:
    """Returns true for the name of a model or function, false for a sequence of passes."""
    return policy.endswith(".zip") or ":" in policy


def evaluate_model(
    name: str, programs: Sequence[str], options: ModelOptions, as_json: bool
) -> None:
    """Evaluates a model or a function, and prints the results.

    A model is evaluated twice, with actions drawn from its distribution and with the likeliest
    ones: the two can differ a lot.

    Raises:
        OSError, ValueError, ImportError: The policy, a wrapper or the environment is not usable.
        typer.Exit: With code 1 if the output of a program has changed, or one failed.
    """
    policy = load_policy(name)
    wrappers = [_wrapper(wrapper) for wrapper in options.wrappers]
    make_arguments: dict[str, Any] = {"wrappers": wrappers} if wrappers else {}
    modes = {"drawn": False, "likeliest": True}
    if not isinstance(policy, PredictingPolicy):
        modes = {"policy": False}
    results = {}
    with progress_bar() as progress:
        total = len(programs) * options.seeds * len(modes)
        task = progress.add_task("evaluating", total=total)
        for mode, deterministic in modes.items():
            results[mode] = evaluate(
                policy,
                options.env,
                seeds=range(options.seeds),
                benchmarks=programs,
                deterministic=deterministic,
                check=options.check,
                max_episode_steps=options.steps,
                on_episode=lambda row, total: progress.update(task, advance=1),
                **make_arguments,
            )
    if as_json:
        print_json(
            {"policy": name, "results": {mode: each.as_dict() for mode, each in results.items()}}
        )
    else:
        _print(name, results)
    failures = Failures(len(programs))
    for each in results.values():
        failures.reasons.update(each.failed)
    failures.print()
    if failures.reasons or any(
        row.output == WRONG for each in results.values() for row in each.rows
    ):
        raise typer.Exit(1)


def _wrapper(name: str) -> Any:
    found = imported(name) if name.partition(":")[0] else None
    if found is None:
        raise ValueError(
            f"expected a wrapper such as compiler_gym.wrappers:AutophaseNorm, got {name!r}"
        )
    return found


def _print(name: str, results: dict[str, Evaluation]) -> None:
    first = next(iter(results.values()))
    cells = []
    for benchmark in dict.fromkeys(row.benchmark for row in first.rows):
        rows = {
            mode: [row for row in each.rows if row.benchmark == benchmark]
            for mode, each in results.items()
        }
        cell: dict[str, Any] = {
            "program": program_name(benchmark),
            "baseline": f"{next(iter(rows.values()))[0].baseline:g}",
        }
        for mode, some in rows.items():
            cell[mode] = f"{arithmetic_mean(row.final for row in some):.0f}"
            cell[f"{mode} %"] = f"{geometric_mean(row.final_ratio for row in some):.1%}"
        outputs = {row.output for some in rows.values() for row in some}
        cell["output"] = WRONG if WRONG in outputs else min(outputs)
        cells.append(cell)
    print_table(cells, f"{name} against {first.baseline}")
    print_line()
    for mode, each in results.items():
        print_line(f"{mode}: {each}")
