"""Evaluation of a policy by IR instruction count, relative to ``-Oz``.

Write a program that calls the evaluation; its flags configure it::

    from compiler_gym.leaderboard.llvm_instcount import eval_llvm_instcount_policy

    def policy(env):
        for _ in range(100):
            env.step(env.action_space.sample())

    if __name__ == "__main__":
        eval_llvm_instcount_policy(policy)

See ``docs/guides/learning.md``.
"""

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from compiler_gym.cli.failures import Failures
from compiler_gym.compat.absl_flags import app, flags
from compiler_gym.compiler_env_state import (
    CompilerEnvState,
    CompilerEnvStateReader,
    CompilerEnvStateWriter,
)
from compiler_gym.datasets import Datasets
from compiler_gym.datasets.selection import programs_of
from compiler_gym.distributed.opening import open_pool
from compiler_gym.distributed.pool import Limits, Pool
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job
from compiler_gym.distributed.threads import Call, thread_pool
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import BenchmarkInitError, DatasetInitError, DownloadFailed
from compiler_gym.evaluation.result import Evaluation
from compiler_gym.evaluation.rows import EvaluationRow
from compiler_gym.leaderboard.episodes import Policy, PolicyEpisode, pickled, play
from compiler_gym.service.environment.episode import known_compiler_version
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.registration import make
from compiler_gym.util.shell_format import plural
from compiler_gym.util.statistics import arithmetic_mean, geometric_mean
from compiler_gym.validate import validate_states

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv


# Evaluation of a policy on benchmarks, with a result file that a later run can resume.

logger = logging.getLogger(__name__)

_ID = "llvm-ic-v0"


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
        RuntimeError: After all other episodes, if one of several programs cannot be compiled or
            downloaded.
        Exception: Any error of the policy, or of the only program.
    """
    missing = [uri for uri, _ in _missing(path, benchmarks, repetitions)]

    def episode(uri: str, worker: Worker) -> CompilerEnvState:
        return play(worker.env_of(make_env), policy, uri)

    jobs = (Job(Call(uri, partial(episode, uri))) for uri in missing)
    with thread_pool(max(min(nproc, len(missing)), 1)) as pool:
        yield from _played(pool, jobs, _failures(benchmarks), path, len(missing))


def evaluate_on_pool(
    policy: Policy,
    pool: Pool,
    datasets: Datasets,
    benchmarks: Sequence[str],
    repetitions: int,
    path: str | Path,
) -> Iterator[CompilerEnvState]:
    """Plays the episodes that a file of results lacks on the workers of a pool.

    Each worker has a copy of the policy, and nodes need none of the datasets.

    Args:
        policy: Plays an episode.
        pool: The pool.
        datasets: Those of an LLVM environment.
        benchmarks: The URIs of the programs.
        repetitions: The number of episodes for each.
        path: The file: see :func:`evaluate`.

    Yields:
        The final state of each episode, as they come.

    Raises:
        ValueError: If the file is malformed.
        TypeError: If the policy cannot be pickled.
        RuntimeError: If an episode fails, or there are no workers; or after all other episodes, if
            a program cannot be compiled or downloaded.
    """
    missing = _missing(path, benchmarks, repetitions)
    data = pickled(policy)
    failures = _failures(benchmarks)

    def jobs() -> Iterator[Job]:
        for uri, number in missing:
            with failures.noted(uri):
                yield PolicyEpisode.job(Program.of(datasets.benchmark(uri)), data, _ID, number)

    yield from _played(pool, jobs(), failures, path, len(missing))


def _failures(benchmarks: Sequence[str]) -> Failures:
    """Returns an empty note of programs that cannot be compiled or downloaded."""
    return Failures(len(benchmarks), (BenchmarkInitError, DatasetInitError, DownloadFailed))


def _played(
    pool: Pool, jobs: Iterable[Job], failures: Failures, path: str | Path, total: int
) -> Iterator[CompilerEnvState]:
    """Plays episodes on a pool, appends their states to a file of results, and yields them."""

    def states() -> Iterator[CompilerEnvState]:
        with closing(pool.run(jobs)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome.task, PolicyEpisode) and outcome.error is not None:
                    logger.error("%s", outcome.details)
                    raise RuntimeError(f"{outcome.task.program} failed: {outcome.error}")
                with failures.noted(outcome.task.name):
                    yield outcome.result()
        if failures.reasons:
            uri, reason = next(iter(failures.reasons.items()))
            raise RuntimeError(
                f"{uri} failed: {reason}\n{plural(len(failures.reasons), 'program')} failed; the "
                "results have the others; try --resume"
            )

    yield from _appended(path, states(), total)


def _missing(
    path: str | Path, benchmarks: Sequence[str], repetitions: int
) -> list[tuple[str, int]]:
    """Returns the program and the number of each episode that a file of results lacks."""
    done = Counter(state.benchmark for state in read_results(path))
    return [(uri, number) for uri in benchmarks for number in range(done[uri], repetitions)]


def _appended(
    path: str | Path, states: Iterable[CompilerEnvState], total: int
) -> Iterator[CompilerEnvState]:
    """Appends states to a file of results one by one, and yields them."""
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = CompilerEnvStateWriter(file, header=file.tell() == 0)
        for number, state in enumerate(states, start=1):
            writer.write_state(state, flush=True)
            logger.info("%d of %d: %s", number, total, state)
            yield state


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
        version = known_compiler_version(env)
        return Evaluation("llvm-ic-v0", *names, tuple(rows), compiler_version=version)


flags.DEFINE_string(
    "leaderboard_results", "llvm_instcount-results.csv", "The file for the results."
)
flags.DEFINE_string("leaderboard_logfile", "llvm_instcount-results.log", "The file for the log.")
flags.DEFINE_integer("max_benchmarks", 0, "Maximum number of programs; 0 for all.", lower_bound=0)
flags.DEFINE_integer("n", 10, "Number of episodes for each program.", lower_bound=1)
flags.DEFINE_string(
    "test_dataset",
    "",
    "The dataset with the programs, such as benchmark://cbench-v1. By default the kernels that "
    "compiler_gym.evaluate() uses.",
)
flags.DEFINE_boolean("validate", True, "Validate the results.")
flags.DEFINE_boolean("resume", False, "Complete the results that are in the file already.")
flags.DEFINE_integer(
    "leaderboard_nproc",
    1,
    "Number of parallel episodes. They slow each other down, and their time counts.",
    lower_bound=1,
)
flags.DEFINE_integer(
    "leaderboard_workers",
    0,
    "Number of processes that play episodes, each with a copy of the policy, instead of threads. "
    "With --ray, 0 is one for each processor of the cluster.",
    lower_bound=0,
)
flags.DEFINE_string(
    "ray",
    None,
    "Play the episodes on the nodes of a Ray cluster: its address, auto, or local for this "
    "machine only.",
)
flags.DEFINE_float(
    "leaderboard_timeout",
    3600,
    "Maximum number of seconds of an episode with --leaderboard_workers or --ray.",
    lower_bound=1,
)

FLAGS = flags.FLAGS


def eval_llvm_instcount_policy(policy: Policy) -> None:
    """Evaluates a policy as the flags of the program say, and ends the program.

    Each episode has a program of ``--test_dataset``, and has begun when the policy is called with
    the environment, ``llvm-ic-v0``. The policy may use the environment freely, including reset and
    fork, but must not change the benchmark or the reward space. The final state of the environment
    counts.

    The results are written to ``--leaderboard_results``: the benchmark, the reward, the seconds
    that the policy took, and the command line of ``opt``, for each episode. At the end comes their
    summary. The exit code is 1 if a result is not valid, and 130 after Ctrl-C. Then
    ``--resume`` goes on.

    Args:
        policy: A callable with an environment as its only argument. What it returns is ignored.
            With ``--leaderboard_nproc``, several threads call it at once. With
            ``--leaderboard_workers`` or ``--ray``, it is copied to other processes.
    """
    app.run(lambda argv: _main(policy, argv))


def _main(policy: Policy, argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Not a flag: {' '.join(argv[1:])}")
    if FLAGS.leaderboard_nproc > 1 and _has_pool():
        raise app.UsageError(
            "expected threads or processes, got both; try without --leaderboard_nproc"
        )
    if not FLAGS.resume and os.path.exists(FLAGS.leaderboard_results):
        os.unlink(FLAGS.leaderboard_results)
    log = logging.FileHandler(FLAGS.leaderboard_logfile, mode="a" if FLAGS.resume else "w")
    logger = logging.getLogger("compiler_gym.leaderboard")
    logger.addHandler(log)
    logger.setLevel(logging.INFO)
    try:
        states = _evaluate(policy)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        logger.removeHandler(log)
        log.close()
    reward, walltime = summary(states)
    print(f"Number of results:      {len(states)}")
    print(f"Mean walltime:          {walltime:.3f} s")
    print(f"Geometric mean reward:  {reward:.4f}")
    if states:
        result = compared_with_baseline(_make_env, states)
        print(f"Share of -Oz:           {result.final:.1%}")
    if FLAGS.validate:
        sys.exit(_count_invalid(states) > 0)


def _evaluate(policy: Policy) -> list[CompilerEnvState]:
    """Plays and prints the episodes. Returns all results, including those of earlier runs."""
    with _make_env() as env:
        # The baseline of rewards is that of this compiler: see "-Oz by version of LLVM".
        print(f"Compiler:               LLVM {env.compiler_version}", flush=True)
        benchmarks = _benchmarks(env)
        for state in _episodes(policy, env.datasets, benchmarks):
            print(f"{state.benchmark}  {state.reward:.4f}  {state.walltime:.3f} s", flush=True)
    known = {*benchmarks}
    return [state for state in read_results(FLAGS.leaderboard_results) if state.benchmark in known]


def _has_pool() -> bool:
    return FLAGS.ray is not None or FLAGS.leaderboard_workers > 0


def _episodes(
    policy: Policy, datasets: Datasets, benchmarks: Sequence[str]
) -> Iterator[CompilerEnvState]:
    """Plays the episodes in threads or on a pool, as the flags say."""
    results = FLAGS.leaderboard_results
    if not _has_pool():
        yield from evaluate(
            policy, _make_env, benchmarks, FLAGS.n, results, nproc=FLAGS.leaderboard_nproc
        )
        return
    limits = Limits(FLAGS.leaderboard_workers or None, task_seconds=FLAGS.leaderboard_timeout)
    with open_pool(FLAGS.ray, limits) as pool:
        yield from evaluate_on_pool(policy, pool, datasets, benchmarks, FLAGS.n, results)
        logger.info("%s", pool.stats)


def _benchmarks(env: LlvmEnv) -> list[str]:
    if not FLAGS.test_dataset:
        return programs_of(env.datasets, "test")[: FLAGS.max_benchmarks or None]
    uris = env.datasets[FLAGS.test_dataset].benchmark_uris()
    return list(islice(uris, FLAGS.max_benchmarks or None))


def _make_env() -> LlvmEnv:
    return cast(LlvmEnv, make(_ID))


def _count_invalid(states: Sequence[CompilerEnvState]) -> int:
    """Validates results, prints those that are not valid, and returns their number."""
    invalid = 0
    for result in validate_states(_make_env, states):
        if not result.okay():
            invalid += 1
            print(result, flush=True)
    print(f"Valid results:          {len(states) - invalid} of {len(states)}")
    return invalid
