"""Episodes of policies that are compared, in this process or as tasks of a pool."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

import cloudpickle

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import Benchmark
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, digest_of, name_of
from compiler_gym.distributed.worker import Worker

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

_FORMAT = 1

#: A policy: plays one episode that has begun. The final state of the environment counts.
Policy: TypeAlias = Callable[["CompilerEnv"], None]


def play(env: "CompilerEnv", policy: Policy, benchmark: str | Benchmark) -> CompilerEnvState:
    """Plays an episode.

    Args:
        env: An environment with a reward space.
        policy: The policy.
        benchmark: The program, or its URI.

    Returns:
        The final state of the environment. The wall time is that of the policy.

    Raises:
        ValueError: If the policy has changed the benchmark or the reward.
        Exception: Any error of the policy or of the environment.
    """
    env.reset(benchmark=benchmark)
    uri, reward = str(benchmark), env.reward_space
    start = monotonic()
    policy(env)
    walltime = monotonic() - start
    if env.state.benchmark != uri:
        raise ValueError(f"The policy has changed the benchmark, from {uri} to {env.benchmark}")
    if env.reward_space != reward:
        raise ValueError("The policy has changed the reward space")
    return CompilerEnvState(
        benchmark=uri,
        commandline=env.commandline(),
        walltime=walltime,
        reward=env.episode_reward,
        compiler_version=env.state.compiler_version,
    )


def pickled(policy: Policy) -> bytes:
    """Returns a policy as bytes for other processes.

    Functions of the main program come with their code, and those of other modules by name.

    Raises:
        TypeError: If the policy refers to something that no other process can have.
    """
    try:
        data: bytes = cloudpickle.dumps(policy)
    except Exception as error:
        raise TypeError(
            f"expected a policy that can be pickled, got {type(error).__name__}: {error}; try "
            "--leaderboard_nproc, which needs no other processes"
        ) from error
    return data


@dataclass(frozen=True)
class PolicyEpisode:
    """An episode of a policy on a program.

    Attributes:
        program: The URI of the program.
        message: The hash of the message for the service, which is data of the job.
        policy: The hash of the pickled policy, which is data of the job too.
        env: The id of the environment.
        repetition: The number of the episode among those of the program.
    """

    program: str
    message: str
    policy: str
    env: str
    repetition: int

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"leaderboard": _FORMAT, **asdict(self)})

    @classmethod
    def job(cls, program: Program, policy: bytes, env: str, repetition: int) -> Job:
        """Returns an episode with its data.

        Args:
            program: The program.
            policy: The pickled policy.
            env: The id of the environment.
            repetition: The number of the episode.
        """
        digest = digest_of(policy)
        episode = cls(program.uri, program.message, digest, env, repetition)
        return Job(episode, {program.message: program.data, digest: policy})

    def run(self, worker: Worker) -> CompilerEnvState:
        """Plays the episode: see :func:`play`."""
        env = worker.env(self.env, {})
        policy = _unpickled(worker.blob(self.policy))
        return play(env, policy, worker.program(self.message))


@lru_cache(maxsize=1)
def _unpickled(data: bytes) -> Policy:
    """Returns a policy. It is loaded once in each process, as it may be large."""
    policy: Policy = cloudpickle.loads(data)
    return policy
