"""``compiler-gym replay``: shows the effect of each pass of a sequence."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.console import print_json, print_line, print_table, working_on
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import (
    EnvOption,
    JsonOption,
    RewardOption,
    ServiceOption,
    check_outputs,
    complete_program,
    opened_env,
    program_file,
    program_uri,
)
from compiler_gym.cli.validate import read_states
from compiler_gym.util.shell_format import plural

if TYPE_CHECKING:
    from compiler_gym.compiler_env_state import CompilerEnvState
    from compiler_gym.envs.compiler_env import CompilerEnv


def replay(
    states: Annotated[
        list[str] | None,
        typer.Argument(
            help="CSV files of states, - for standard input; or with --program one text of passes.",
            show_default=False,
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            "--program", "-p", help="Play passes on this program.", autocompletion=complete_program
        ),
    ] = None,
    reward: RewardOption = None,
    write: Annotated[
        Path | None, typer.Option(help="Write the final program to a file: .ll or .bc.")
    ] = None,
    env: EnvOption = "llvm-ic-v0",
    service: ServiceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay passes, and show the effect of each.

    The exit code is 1 if a state cannot be replayed, or a line is malformed.

    \b
    Examples:
      compiler-gym replay results.csv
      compiler-gym replay --program program.c sroa,instcombine,gvn
      compiler-gym replay -p program.c "opt -passes='module(globaldce)'" --write out.ll
    """  # noqa: D301
    from compiler_gym.compiler_env_state import CompilerEnvState

    if not states:
        raise typer.BadParameter("Name a CSV file of states; or --program, and passes to play.")
    _check_suffix(write)
    if program is None:
        files = [*map(Path, states)]
        wanted, malformed = read_states(states)
        if write is not None and len(wanted) != 1:
            raise ValueError(
                f"--write is for one state, and there are {len(wanted)}: give it a file with "
                "one of them, or --program and its passes"
            )
    else:
        files, malformed = [], 0
        text, uri = ",".join(states), program_uri(program)
        wanted = [CompilerEnvState(benchmark=uri, commandline=text, walltime=0)]
    if write is not None:
        check_outputs([*files, program_file(wanted[0].benchmark)], [write])
    with opened_env(env, service, reward_space=reward) as opened:
        results = []
        failures = Failures(len(wanted))
        for number, state in enumerate(wanted, start=1):
            with failures.noted(f"state {number}, {state.benchmark},"):
                rows = _replay_state(opened, state)
                results.append({"benchmark": state.benchmark, "steps": rows})
                if not as_json:
                    print_replay(opened, rows, state)
        if as_json:
            print_json(results)
        failures.print()
        if failures.reasons or malformed:
            raise typer.Exit(1)
        if write is not None:
            opened.write_ir(write) if write.suffix == ".ll" else opened.write_bitcode(write)


def _check_suffix(path: Path | None) -> None:
    if path is not None and path.suffix not in (".ll", ".bc"):
        raise typer.BadParameter(f"--write makes .ll or .bc files, not {path.name}.")


def _replay_state(env: "CompilerEnv", state: "CompilerEnvState") -> list[dict[str, Any]]:
    from compiler_gym.service.environment.episode import naming_other_version

    with working_on(f"playing {state.benchmark}"):
        env.reset(benchmark=state.benchmark)
        with naming_other_version(env, state):
            return list(played(env, env.commandline_to_actions(state.commandline)))


def played(env: "CompilerEnv", actions: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Makes steps, and yields their results as rows of a table.

    Raises:
        ValueError: If the compiler fails.
    """
    for number, action in enumerate(actions, start=1):
        name = env.action_space.names[action]
        _, reward, done, info = env.step(action)
        if "error_type" in info:
            raise ValueError(
                f"Step {number}, {name}: {info['error_type']}: {info['error_details']}"
            )
        yield {
            "step": number,
            "action": name,
            "changed": not info["action_had_no_effect"],
            "reward": reward,
            "total": env.episode_reward,
        }
        if done:
            return


def print_replay(
    env: "CompilerEnv", rows: list[dict[str, Any]], state: "CompilerEnvState | None" = None
) -> None:
    """Prints the results of an episode's steps.

    Args:
        env: The environment, after the steps.
        rows: The rows of :func:`played`.
        state: The state, whose reward is compared.
    """
    from compiler_gym.service.environment.episode import made_by_another

    reward_name = f": {env.reward_space.name}" if env.reward_space else ""
    print_table(rows, f"{env.benchmark}{reward_name}")
    changed = sum(row["changed"] for row in rows)
    reward = "" if env.episode_reward is None else f", reward {env.episode_reward:.4f}"
    print_line(f"{plural(len(rows), 'step')}, {changed} of which changed the program{reward}")
    if state is not None and state.has_reward and state != env.state:
        print_line(f"The reward of the state was another: {state.reward:.4f}")
    if state is not None and (text := made_by_another(env, state)):
        print_line(f"{text}: results may differ")
    print_line()
