"""``compiler-gym record``: writes episodes to Parquet files."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from compiler_gym.cli.console import print_json, print_line
from compiler_gym.cli.failures import Failures
from compiler_gym.cli.options import (
    PROGRAM_HELP,
    EnvOption,
    JsonOption,
    RewardOption,
    complete_observation,
    complete_policy,
    complete_program,
    opened_env,
    program_uris,
)
from compiler_gym.cli.pool_options import PoolProgress, RayOption, command_pool
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.tuning.policies.shipped import SHIPPED
from compiler_gym.util.filesystem import read_text
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import plural

if TYPE_CHECKING:
    from compiler_gym.distributed.task import Job, Outcome


def record(
    programs: Annotated[
        list[str],
        typer.Argument(
            help=f"{PROGRAM_HELP} Or a dataset, such as kernels-v0.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ],
    output_folder: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The folder of the table. An existing recording continues."
        ),
    ] = Path("recorded"),
    policy: Annotated[
        str,
        typer.Option(
            help=f"random, the name of a policy ({', '.join(SHIPPED)}), or its file.",
            autocompletion=complete_policy,
        ),
    ] = "random",
    actions: Annotated[
        Path | None,
        typer.Option(
            help="A file of actions to play instead: an episode in each line, names with blanks.",
            dir_okay=False,
            exists=True,
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=1, help="Random episodes of each program, with different seeds.")
    ] = 10,
    steps: Annotated[int, typer.Option(min=1, help="Number of actions of a random episode.")] = 45,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    count: Annotated[
        int, typer.Option(min=1, help="Maximum number of programs of a dataset.")
    ] = 100,
    part: Annotated[
        str | None,
        typer.Option(
            help="The part of a dataset: train, validation or test. By default all programs.",
            show_default=False,
        ),
    ] = None,
    env_id: EnvOption = "llvm-v0",
    observation: Annotated[
        list[str] | None,
        typer.Option(
            "--observation",
            help="An observation to record; may be given several times. By default Autophase, in "
            "environments that have it.",
            autocompletion=complete_observation,
            show_default=False,
        ),
    ] = None,
    reward: RewardOption = "IrInstructionCountOz",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of parallel episodes; by default one for each processor."),
    ] = None,
    ray: RayOption = None,
    tries: Annotated[
        int, typer.Option(min=1, help="Number of attempts before an episode counts as failed.")
    ] = 3,
    timeout: Annotated[
        float, typer.Option(min=1, help="Time limit of an episode in seconds.")
    ] = 600,
    form: Annotated[
        Literal["table", "chat"],
        typer.Option(
            "--format",
            help="chat writes the episodes as conversations as well: chat.jsonl, chat.parquet.",
        ),
    ] = "table",
    best: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of episodes of each program that become conversations, the best ones.",
            show_default=False,
        ),
    ] = None,
    minari: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Make a dataset of Minari of the table as well, of this name, such as "
            "llvm/kernels/random-v0. It has the first observation.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Record episodes as Parquet files.

    The rows have programs, actions, observations, rewards and sizes.

    Each row is an episode. Actions are random, from a policy, or from a file. The same command
    continues after an interrupt, and plays no episode twice. The rows are the same on this machine
    and, with --ray, on the nodes of a cluster. The exit code is 1 if an episode failed. Its row
    then has the reason, and failures/NAME.txt has the details. It is also 1 if a program cannot be
    compiled, which has no rows.

    \b
    Examples:
      compiler-gym record kernels-v0 --episodes 100
      compiler-gym record program.c --policy coreset --observation InstCount
      compiler-gym record csmith-v0 --count 1000 --ray auto
      compiler-gym record kernels-v0 --format chat --best 1
      compiler-gym record kernels-v0 --part train --minari llvm/kernels/random-v0
    """  # noqa: D301, the mark of a paragraph that is not filled.
    from compiler_gym.distributed.episode import Episode
    from compiler_gym.distributed.episode import record as record_episodes
    from compiler_gym.distributed.pool import Limits, summary
    from compiler_gym.distributed.programs import Program
    from compiler_gym.distributed.rows import schema_of

    if minari is not None:
        # Not above: others do not need it.
        from compiler_gym.distributed.minari_dataset import check_name

        check_name(minari)
    begin = time.monotonic()
    limits = Limits(workers=jobs, tries=tries, task_seconds=timeout)
    with opened_env(env_id) as env:
        wanted = _observations(env, observation)
        if reward not in env.reward.spaces:
            raise unknown_name("reward", str(reward), [*env.reward.spaces])
        chosen = _Choice.of(env, policy, actions, range(seed, seed + episodes), steps)
        uris = program_uris(env.datasets, programs, count, part)
        failures = Failures(len(uris))
        action_names = tuple(env.action_space.names)
        schema = schema_of({name: env.observation.spaces[name].space for name in wanted})
        total = len(uris) * chosen.episodes
        interrupted = False
        with (
            command_pool(ray, limits) as pool,
            PoolProgress(pool, total, "episodes").shown() as bar,
        ):

            def jobs_of_programs() -> "Iterator[Job]":
                common = {"environment": env_id, "observations": wanted, "reward": reward}
                for uri in uris:
                    with failures.noted(uri):
                        program = Program.of(env.datasets.benchmark(uri))
                        for each in chosen.arguments():
                            yield Episode.job(program, chosen.file, **each, **common)

            def watch(outcome: "Outcome | None") -> None:
                bar.advance()

            try:
                record_episodes(pool, jobs_of_programs(), output_folder, schema, watch)
            except KeyboardInterrupt:
                interrupted = True
    _print_results(output_folder, summary(pool.stats), time.monotonic() - begin, as_json)
    failures.print()
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if form == "chat":
        # Not above: other formats do not need it.
        from compiler_gym.agents.chat import write_recorded

        paths = [output_folder / "chat.jsonl", output_folder / "chat.parquet"]
        written, _ = write_recorded(output_folder, paths, best)
        if not as_json:
            print_line(f"{output_folder}/chat.jsonl, .parquet: {plural(written, 'conversation')}")
    if minari is not None:
        # Not above: other formats do not need it.
        from compiler_gym.distributed.minari_dataset import to_minari

        made = to_minari(output_folder, minari, wanted[0] if wanted else None, action_names)
        if not as_json:
            print_line(f"{minari}: {plural(int(made.total_steps), 'transition')}")
    if pool.stats.failed or failures.reasons:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Choice:
    """The choice of actions.

    Attributes:
        policy: The policy of the episodes.
        sequences: Actions to play.
        seeds: Seeds of random actions.
        steps: The number of random actions.
        file: The file of a policy.
    """

    policy: str
    sequences: tuple[tuple[str, ...], ...] = ()
    seeds: range = range(0)
    steps: int = 0
    file: bytes = b""

    @classmethod
    def of(cls, env: Any, policy: str, actions: Path | None, seeds: range, steps: int) -> "_Choice":
        from compiler_gym.distributed.episode import ACTIONS, RANDOM
        from compiler_gym.tuning.policies.policy import Policy

        if actions is not None:
            sequences = tuple(_read_sequences(actions, env))
            if not sequences:
                raise ValueError(f"expected an episode of actions in {actions}, got none")
            return cls(ACTIONS, sequences)
        if policy == RANDOM:
            return cls(RANDOM, seeds=seeds, steps=steps)
        Policy.load(policy)  # Raises an error for another file.
        return cls(policy, file=SHIPPED.get(policy, Path(policy)).read_bytes())

    @property
    def episodes(self) -> int:
        """The number of episodes of each program."""
        return len(self.sequences) + len(self.seeds) + bool(self.file)

    def arguments(self) -> Iterator[dict[str, Any]]:
        """Yields arguments of the episodes of a program."""
        for sequence in self.sequences:
            yield {"policy": self.policy, "actions": sequence}
        for seed in self.seeds:
            yield {"policy": self.policy, "seed": seed, "steps": self.steps}
        if self.file:
            yield {"policy": self.policy}


def _read_sequences(path: Path, env: Any) -> Iterator[tuple[str, ...]]:
    """Reads sequences of actions, one in each line.

    Raises:
        ValueError: If a name is no action. The message names the line.
    """
    space = env.action_space
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if names := line.split():
            try:
                yield tuple(space.names[space[name]] for name in names)
            except LookupError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error


def _observations(env: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    spaces = env.observation.spaces
    if names is None:
        return ("Autophase",) if "Autophase" in spaces else ()
    for name in names:
        if name not in spaces:
            raise unknown_name("observation", name, [*spaces])
        if not spaces[name].deterministic:
            raise ValueError(
                f"expected an observation that is the same each time, got {name}; try Autophase"
            )
    return tuple(dict.fromkeys(names))


def _print_results(folder: Path, counts: dict[str, int], seconds: float, as_json: bool) -> None:
    from compiler_gym.distributed.rows import count_rows, files_of

    episodes, steps = count_rows(folder)
    facts: dict[str, Any] = {
        "folder": str(folder),
        "episodes": episodes,
        "steps": steps,
        "bytes": sum(path.stat().st_size for path in files_of(folder)),
        "seconds": seconds,
        **counts,
    }
    if as_json:
        print_json(facts)
        return
    print_line(
        f"{folder}: {plural(episodes, 'episode')}, {plural(steps, 'step')}, {facts['bytes']} bytes"
    )
    print_line(
        f"{counts['done']} played in {seconds:.1f} s, {counts['repeated']} repeated, "
        f"{counts['failed']} failed"
    )
    if counts["failed"]:
        print_line(f"Why: {folder / 'failures'}")
