"""Evaluation of a policy on benchmarks, with a result file that a later run can resume."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from compiler_gym.compiler_env_state import (
    CompilerEnvState,
    CompilerEnvStateReader,
    CompilerEnvStateWriter,
)
from compiler_gym.evaluation.result import Evaluation, EvaluationRow
from compiler_gym.util.statistics import arithmetic_mean, geometric_mean
from compiler_gym.util.thread_environments import ThreadEnvironments

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

logger = logging.getLogger(__name__)

#: A policy: plays one episode that has begun. The final state of the environment counts.
Policy = Callable[["CompilerEnv"], None]


def read_results(path: str | Path) -> list[CompilerEnvState]:
    """Returns the results in a file, none if there is no such file.

    Raises:
        ValueError: The file is malformed.
    """
    try:
        return list(CompilerEnvStateReader.read_paths([path]))
    except FileNotFoundError:
        return []


def evaluate(
    policy: Policy,
    make_env: Callable[[], "CompilerEnv"],
    benchmarks: Sequence[str],
    repetitions: int,
    path: str | Path,
    nproc: int = 1,
) -> Iterator[CompilerEnvState]:
    """Plays the episodes that a file of results lacks, and appends them to it one by one.

    Args:
        policy: Plays an episode. If ``nproc`` is greater than one, threads call it at once, each
            with an environment of its own.
        make_env: Makes an environment with a reward space.
        benchmarks: The URIs of the programs.
        repetitions: The number of episodes for each.
        path: The file, in the format of :class:`CompilerEnvStateWriter`. Episodes in it are not
            repeated.
        nproc: The number of parallel episodes. Wall times grow with it.

    Yields:
        The final state of each episode, as they come. Its wall time is that of the policy.

    Raises:
        ValueError: The file is malformed, or the policy has changed the benchmark or the reward.
        Exception: Any error of the policy or of the environment.
    """
    done = Counter(state.benchmark for state in read_results(path))
    missing = [uri for uri in benchmarks for _ in range(repetitions - done[uri])]
    environments = ThreadEnvironments(make_env)
    executor = ThreadPoolExecutor(max(min(nproc, len(missing)), 1), "leaderboard")
    try:
        with open(path, "a", encoding="utf-8", newline="") as file:
            writer = CompilerEnvStateWriter(file, header=file.tell() == 0)
            episodes = [executor.submit(_play, environments, policy, uri) for uri in missing]
            for number, episode in enumerate(as_completed(episodes), start=1):
                state = episode.result()
                writer.write_state(state, flush=True)
                logger.info("%d of %d: %s", number, len(missing), state)
                yield state
    finally:
        executor.shutdown(cancel_futures=True)
        environments.close()


def _play(environments: ThreadEnvironments, policy: Policy, uri: str) -> CompilerEnvState:
    env = environments.get()
    env.reset(benchmark=uri)
    reward = env.reward_space
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
    )


def summary(states: Sequence[CompilerEnvState]) -> tuple[float, float]:
    """Returns the geometric mean of the rewards, and the mean of the wall times in seconds.

    Rewards below zero count as zero.
    """
    rewards = [max(state.reward or 0, 0) for state in states]
    return geometric_mean(rewards), arithmetic_mean([state.walltime for state in states])


def compared_with_baseline(
    make_env: Callable[[], "CompilerEnv"], states: Sequence[CompilerEnvState]
) -> Evaluation:
    """Returns the costs of episodes against the baseline, computed from their rewards.

    Args:
        make_env: Makes an environment whose reward compares a cost with a baseline.
        states: The states in which episodes have ended, with their rewards.
    """
    with make_env() as env:
        reward: Any = env.reward_space_spec
        known: dict[str, tuple[float, float, float]] = {}
        rows = []
        for number, state in enumerate(states):
            if state.benchmark not in known:
                env.reset(benchmark=state.benchmark)
                unoptimised = float(reward.unoptimised_cost(env.observation))
                unit = max(reward.get_cost_norm(env.observation), 1.0)
                known[state.benchmark] = unoptimised, unit, float(reward.baseline_cost)
            unoptimised, unit, baseline = known[state.benchmark]
            final = float(round(unoptimised - (state.reward or 0) * unit))
            rows.append(
                EvaluationRow(state.benchmark, number, unoptimised, baseline, final, final, ())
            )
        names = reward.cost_function, reward.baseline_cost_function
        return Evaluation("llvm-ic-v0", *names, tuple(rows))
