"""``compiler-gym eval``: evaluates a policy on held-out programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.console import print_json, print_line, print_table
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import (
    PROGRAM_HELP,
    JsonOption,
    complete_env,
    complete_policy,
    complete_program,
    program_name,
    program_uris,
)
from compiler_gym.cli.pool_options import PoolProgress, RayOption, command_pool
from compiler_gym.evaluation.rows import EPISODE_STEPS, WRONG
from compiler_gym.tuning.policies.shipped import SHIPPED
from compiler_gym.util.shell_format import percent

if TYPE_CHECKING:
    from compiler_gym.distributed.task import Job
    from compiler_gym.evaluation import Evaluation


def evaluate(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{PROGRAM_HELP} Or a dataset, such as kernels-v0. By default programs that the "
            "shipped policies have not learnt from, of kernels-v0, csmith-v0 and opensource-v0.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="pieces: pieces of sequences, each kept if it helps. pieces45: the first of them. "
            "sequence: one sequence for all programs. coreset: tries twelve. "
            "network: chooses one of them. Or a JSON file, a model of Stable-Baselines3 (.zip), or "
            "module:attribute for a function from an observation to an action.",
            autocompletion=complete_policy,
        ),
    ] = "pieces",
    count: Annotated[
        int,
        typer.Option(
            min=1,
            help="Maximum number of programs of a dataset. Without PROGRAMS, the number of those "
            "of csmith-v0, and of opensource-v0.",
        ),
    ] = 20,
    seed: Annotated[
        int, typer.Option(help="The seed that selects the programs of opensource-v0.")
    ] = 0,
    check: Annotated[
        bool, typer.Option(help="Run the programs that can be run, and compare their output.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Number of programs in parallel.")] = 1,
    ray: RayOption = None,
    env: Annotated[
        str,
        typer.Option(
            "--env", help="The environment of a model or function.", autocompletion=complete_env
        ),
    ] = "llvm-autophase-ic-v0",
    wrapper: Annotated[
        list[str] | None,
        typer.Option(
            help="A wrapper that a model was trained with, as module:attribute. The innermost "
            "first.",
            show_default=False,
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=1, help="Episodes of each program with a model or function.")
    ] = 1,
    steps: Annotated[
        int, typer.Option(min=1, help="Maximum number of actions in an episode.")
    ] = EPISODE_STEPS,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a policy on held-out programs, against -Oz.

    The shipped policies are sequences of passes, trained on other programs. `python -m
    compiler_gym.tuning.policy_training` trains them again.

    The exit code is 1 if the output of a program changes, or a program cannot be compiled. The mean
    leaves out programs of which -Oz leaves less than 2 %, and programs of csmith that never end, as
    compilers may remove all of their code.

    With --ray, the nodes of a cluster play the episodes. They need the datasets of the programs to
    check their output.

    \b
    Examples:
      compiler-gym eval sha256 program.c
      compiler-gym eval --policy network --json
      compiler-gym eval --ray auto --no-check
      compiler-gym eval --policy ppo.zip --wrapper compiler_gym.wrappers:AutophaseNorm --episodes 5
    """  # noqa: D301
    from compiler_gym.cli.eval_model import ModelOptions, evaluate_model, is_model
    from compiler_gym.datasets.selection import programs_of
    from compiler_gym.distributed.programs import Program
    from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
    from compiler_gym.evaluation.tasks import PolicyEvaluation
    from compiler_gym.tuning.policies.policy import Policy

    datasets = LlvmDatasets(get_llvm_datasets())
    uris = program_uris(datasets, programs or (), count)
    uris = uris or programs_of(datasets, "test", count, count, seed)
    if is_model(policy):
        if ray is not None or jobs > 1:
            raise typer.BadParameter("models and functions are evaluated one program at a time")
        options = ModelOptions(env, wrapper or (), episodes, steps, check)
        evaluate_model(policy, uris, options, as_json)
        return
    chosen = Policy.load(policy)
    file = SHIPPED.get(policy, Path(policy)).read_bytes()
    failures = Failures(len(uris))
    tasks = []
    for uri in uris:
        with failures.noted(uri):
            program = Program.of(datasets.benchmark(uri))
            tasks.append(PolicyEvaluation.job(program, file, check))
    rows = _evaluated(tasks, jobs, ray, failures)
    if as_json:
        print_json(
            {
                "policy": policy,
                "about": chosen.about,
                "programs": rows,
                "failed": failures.reasons,
            }
        )
    elif rows:
        _print(rows, policy)
    failures.print()
    if failures.reasons or any(row["output"] == WRONG for row in rows):
        raise typer.Exit(1)


def _evaluated(
    jobs: "Sequence[Job]", workers: int, ray: str | None, failures: Failures
) -> list[dict[str, Any]]:
    """Evaluates programs, and returns their rows in order."""
    from compiler_gym.distributed.pool import Limits, in_order
    from compiler_gym.distributed.threads import caller_pool

    is_here = ray is None and workers == 1
    limits = Limits(workers=None if ray else workers)
    with (
        caller_pool() if is_here else command_pool(ray, limits) as pool,
        PoolProgress(pool, len(jobs), "programs").shown() as bar,
    ):
        outcomes = [*in_order(pool, jobs, lambda _: bar.advance())]
    rows = []
    for each in outcomes:
        with failures.noted(each.task.program):
            rows.append(each.result())
    return rows


def _print(rows: list[dict[str, Any]], policy: str) -> None:
    cells = [
        {
            "program": program_name(row["uri"]),
            "-O0": row["O0"],
            "-Oz": row["Oz"],
            "marked\n-Oz": row["marked_Oz"],
            "policy": row["policy"],
            "policy\n/-Oz": percent(row["ratio"], 1),
            "/marked\n-Oz": percent(row["marked_ratio"], 1),
            "passes": len(row["passes"]),
            "output": row["output"],
        }
        for row in rows
    ]
    print_table(cells, f"IR instructions with the policy {policy!r}, against -Oz")
    print_line()
    for name, level in (("Oz", "-Oz"), ("marked_Oz", "-Oz with all functions marked for size")):
        result = _against(name, rows)
        mean = (
            f"Geometric mean {result.final:.1%} of" if result.counted else "No program counts for"
        )
        smaller = f"{result.smaller} of {len(result.counted)} smaller"
        print_line(f"{mean} {level}; {smaller}{result.notes}.")
    print_line(f"At most {max(row['tried'] for row in rows)} passes run on a program.")


def _against(level: str, rows: list[dict[str, Any]]) -> "Evaluation":
    """Returns the evaluation that compares the policy with a level."""
    from compiler_gym.evaluation import Evaluation, EvaluationRow
    from compiler_gym.tuning.policies.policy import COST

    episodes = (
        EvaluationRow(
            benchmark=row["uri"],
            seed=0,
            unoptimised=row["O0"],
            baseline=row[level],
            final=row["policy"],
            best=row["policy"],
            actions=tuple(row["passes"]),
            output=row["output"],
        )
        for row in rows
        if row[level] is not None
    )
    return Evaluation("llvm-v0", COST, f"{COST}{level}", tuple(episodes))
