"""``compiler-gym eval``: what a policy makes of programs, without any search."""

from typing import Annotated, Any

import typer

from compiler_gym.cli.console import print_json, print_line, print_table, progress_bar
from compiler_gym.cli.options import (
    PROGRAM_HELP,
    JsonOption,
    complete_policy,
    complete_program,
    opened_env,
    program_name,
    program_uri,
)
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.tuning.policies.policy import COST, Policy
from compiler_gym.tuning.policies.training import held_back_programs
from compiler_gym.util.statistics import geometric_mean

_RIGHT, _WRONG, _NOT_CHECKED, _ENDLESS = "right", "WRONG", "not checked", "no end"


def evaluate(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{PROGRAM_HELP} By default programs that the shipped policies have not learnt "
            "from: of kernels-v0, csmith-v0 and opensource-v0.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="sequence: one for all programs. coreset: tries several. network: looks at the "
            "program and tries one. Or a file.",
            autocompletion=complete_policy,
        ),
    ] = "coreset",
    count: Annotated[
        int, typer.Option(min=1, help="Of csmith-v0, and of opensource-v0, without PROGRAMS.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Which of opensource-v0.")] = 0,
    check: Annotated[
        bool, typer.Option(help="Run the programs that can be run, and compare what they print.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a policy: IR instructions, beside those that -Oz leaves.

    Policies are sequences of passes that were found once, on other programs. `python -m
    compiler_gym.tuning.policies` trains them again.

    Programs that can be run print the same afterwards, or the exit code is 1. The mean leaves out
    those of csmith that do not end, as compilers may remove all of them.

    \b
    Examples:
      compiler-gym eval sha256 program.c
      compiler-gym eval --policy network --json
    """  # noqa: D301
    chosen = Policy.load(policy)
    rows = []
    with opened_env("llvm-v0") as env, progress_bar() as progress:
        uris = [program_uri(name) for name in programs or ()]
        uris = uris or held_back_programs(env.datasets, count, seed)
        task = progress.add_task("evaluating", total=len(uris))
        for uri in uris:
            rows.append(_row(env, chosen, uri, check))
            progress.update(task, advance=1)
    if as_json:
        print_json({"policy": policy, "about": chosen.about, "programs": rows})
    else:
        _print(rows, policy)
    if any(row["output"] == _WRONG for row in rows):
        raise typer.Exit(1)


def _row(env: LlvmEnv, policy: Policy, uri: str, check: bool) -> dict[str, Any]:
    """Plays an episode; what came of it."""
    env.reset(benchmark=uri)
    before, oz = (int(env.observation[f"{COST}{level}"]) for level in ("O0", "Oz"))
    choice = policy.play(env)
    return {
        "uri": uri,
        "O0": before,
        "Oz": oz,
        "policy": choice.cost,
        "ratio": choice.cost / max(oz, 1),
        "tried": choice.tried,
        "passes": list(choice.sequence),
        "output": _output(env) if check else _NOT_CHECKED,
    }


def _output(env: LlvmEnv) -> str:
    """Returns what is known about what the program prints."""
    if not env.benchmark.running_callbacks():
        return _NOT_CHECKED
    types = [error.type for error in env.validate().errors]
    if "Execution timeout of the unoptimised program" in types:
        return _ENDLESS
    if any(type.endswith("of the unoptimised program") for type in types):
        return _NOT_CHECKED
    return _WRONG if types else _RIGHT


def _print(rows: list[dict[str, Any]], policy: str) -> None:
    cells = [
        {
            "program": program_name(row["uri"]),
            "-O0": row["O0"],
            "-Oz": row["Oz"],
            "policy": row["policy"],
            "policy/-Oz": f"{row['ratio']:.1%}",
            "passes": len(row["passes"]),
            "output": row["output"],
        }
        for row in rows
    ]
    print_table(cells, f"IR instructions with the policy {policy!r}, against -Oz")
    # Of a program that never ends a compiler may leave next to nothing.
    ending = [row for row in rows if row["output"] != _ENDLESS]
    print_line()
    if ending:
        smaller = sum(row["policy"] < row["Oz"] for row in ending)
        print_line(
            f"Geometric mean {geometric_mean([row['ratio'] for row in ending]):.1%} of -Oz; "
            f"{smaller} of {len(ending)} smaller; at most {max(row['tried'] for row in ending)} "
            "passes run on a program."
        )
    if len(ending) < len(rows):
        print_line(f"Left out of the mean: {len(rows) - len(ending)} that do not end in time.")
