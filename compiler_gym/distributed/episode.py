"""Episodes as tasks of a pool, and the record of each as a row of a table."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from compiler_gym.distributed.pool import Pool, new_jobs
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.rows import RowWriter, encode, recorded_episodes, schema_of
from compiler_gym.distributed.task import Job, Outcome, digest_of, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.errors import ServiceError
from compiler_gym.util.filesystem import locked_folder
from compiler_gym.util.gym_type_hints import TRUNCATED

#: The policy that draws each action with equal probability.
RANDOM = "random"
#: The policy that takes the actions of the episode.
ACTIONS = "actions"
#: The observation that is the size of a program, where an environment has it.
SIZE = "IrInstructionCount"
_FORMAT = 1


@dataclass(frozen=True)
class Episode:
    """An episode to play and record.

    It is named by the hash of all that its row depends on, the program's bytes included.

    Attributes:
        program: The URI of the program.
        message: The hash of the message for the service, which is data of the job.
        digest: The hash of the program alone.
        policy: :data:`RANDOM`, :data:`ACTIONS`, or the name of a policy whose file is data of the
            job.
        policy_digest: The hash of that file; empty otherwise.
        actions: The names of the actions, for the policy :data:`ACTIONS`.
        seed: The seed of random actions.
        steps: The number of random actions.
        environment: The id of the environment.
        arguments: Further arguments of :func:`compiler_gym.make`.
        observations: The observations to record.
        reward: The reward to record; None for none.
    """

    program: str
    message: str
    digest: str
    policy: str = RANDOM
    policy_digest: str = ""
    actions: tuple[str, ...] = ()
    seed: int = 0
    steps: int = 0
    environment: str = "llvm-v0"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[str, ...] = ()
    reward: str | None = None

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"format": _FORMAT, **asdict(self)})

    @classmethod
    def job(cls, program: Program, policy_file: bytes = b"", **arguments: Any) -> Job:
        """Returns an episode with its data.

        Args:
            program: The program.
            policy_file: The file of a policy, if the episode has one.
            **arguments: Attributes of the episode.
        """
        digest = digest_of(policy_file) if policy_file else ""
        episode = cls(
            program.uri, program.message, program.digest, policy_digest=digest, **arguments
        )
        return Job(
            episode, {program.message: program.data} | ({digest: policy_file} if digest else {})
        )

    def run(self, worker: Worker) -> bytes:
        """Plays the episode.

        Returns:
            The row, see :mod:`compiler_gym.distributed.rows`, as :func:`rows.encode` returns it:
            the process that writes the table has little to do with it.

        Raises:
            LookupError: If there is no action, observation or reward of a name.
            ServiceError: If the episode was lost, which says nothing about the program.
        """
        env = worker.env(self.environment, self.arguments)
        env.reset(benchmark=worker.program(self.message))
        actions = self._actions(env, worker)
        names = [*([SIZE] if SIZE in env.observation.spaces else ()), *self.observations]
        row = self._played(env, actions, names)
        spaces = env.observation.spaces
        return encode(row, schema_of({name: spaces[name].space for name in self.observations}))

    def _played(self, env: Any, actions: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
        """Takes the actions, and returns the row."""
        recorded = [env.observation.observe(names)]
        rewards: list[float] = []
        end = failed = None
        for action in actions:
            values, reward, done, info = env.step(
                action, observation_spaces=names, reward_spaces=[self.reward] if self.reward else []
            )
            if "error_type" in info:
                if info.get(TRUNCATED):
                    raise ServiceError(f"{info['error_type']}: {info['error_details']}")
                end, failed = info["error_type"], env.action_space.names[action]
                break
            recorded.append(values)
            rewards += map(float, reward)
            if done:
                end = "done"
                break
        return self._row(env, actions[: len(recorded) - 1], rewards, recorded) | {
            "end": end,
            "failed_action": failed,
        }

    def failed_row(self, error: str) -> dict[str, Any]:
        """Returns the row of an episode that could not be played.

        Args:
            error: Why.
        """
        empty: dict[str, list[Any]] = {f"observation_{name}": [] for name in self.observations}
        return self._facts() | empty | {
            "compiler": "", "actions": [], "rewards": [], "sizes": [],
            "end": None, "failed_action": None, "error": error,
        }  # fmt: skip

    def _actions(self, env: Any, worker: Worker) -> list[int]:
        """Returns the numbers of the actions to take in an episode that has just begun."""
        if self.policy == RANDOM:
            rng = random.Random(self.seed)
            return [rng.randrange(int(env.action_space.n)) for _ in range(self.steps)]
        names: Sequence[str] = self.actions
        if self.policy != ACTIONS:
            from compiler_gym.tuning.policies.policy import Policy

            names = Policy.from_json(worker.blob(self.policy_digest)).play_passes(env).sequence
            env.reset(benchmark=worker.program(self.message))
        return [env.action_space[name] for name in names]

    def _facts(self) -> dict[str, Any]:
        return {
            "episode": self.name,
            "program": self.program,
            "program_hash": self.digest,
            "environment": self.environment,
            "policy": self.policy,
            "seed": self.seed,
            "reward": self.reward,
        }

    def _row(
        self, env: Any, actions: Sequence[int], rewards: list[float], recorded: list[list[Any]]
    ) -> dict[str, Any]:
        columns = [*zip(*recorded, strict=True)] if recorded[0] else []
        has_size = len(columns) > len(self.observations)
        names = env.action_space.names
        observed = columns[1:] if has_size else columns
        return self._facts() | {
            "compiler": env.compiler_version,
            "actions": [names[action] for action in actions],
            "rewards": rewards,
            "sizes": [int(size) for size in columns[0]] if has_size else [],
            "error": None,
            **{
                f"observation_{name}": [*values]
                for name, values in zip(self.observations, observed, strict=True)
            },
        }


_FAILURES = "failures"


def record(
    pool: Pool,
    jobs: Iterable[Job],
    folder: Path,
    schema: Any,
    watch: Callable[[Outcome | None], None] = lambda _: None,
) -> None:
    """Plays episodes, and adds a row of each to a table. Those that are in it are not played.

    Why an episode failed is in its row, and with a traceback in ``failures/NAME.txt`` of the
    folder. After an exception or Ctrl-C, all rows that came are in the table.

    Args:
        pool: Plays the episodes.
        jobs: The episodes. One that comes twice is played once.
        folder: The folder of the table.
        schema: Its schema.
        watch: Called with the outcome of each episode; with None if the table had it.

    Raises:
        BlockingIOError: If another process records to the folder.
        PoolError: If there are no workers.
        ValueError: If the table has other columns.
    """
    with locked_folder(folder), RowWriter(folder, schema) as writer:
        missing = new_jobs(jobs, recorded_episodes(folder), watch)
        with closing(pool.run(missing)) as outcomes:
            for outcome in outcomes:
                episode = outcome.task
                assert isinstance(episode, Episode)
                row = outcome.value
                if outcome.error is not None:
                    write_failure(folder, outcome)
                    row = encode(episode.failed_row(outcome.error), schema)
                writer.write(row)
                watch(outcome)


def write_failure(folder: Path, outcome: Outcome) -> Path:
    """Writes what is known about a failed task to a file of its name.

    Args:
        folder: The folder of the results.
        outcome: The outcome.

    Returns:
        The file.
    """
    path = folder / _FAILURES / f"{outcome.task.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"task: {outcome.task}\nnode: {outcome.node}\ntries: {outcome.tries}\n"
        f"seconds: {outcome.seconds:.3f}\nerror: {outcome.error}\n\n{outcome.details}",
        encoding="utf-8",
    )
    return path
