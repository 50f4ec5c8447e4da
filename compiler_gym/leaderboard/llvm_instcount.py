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
from collections.abc import Sequence
from itertools import islice
from typing import cast

from absl import app, flags

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets.selection import programs_of
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.leaderboard.evaluation import (
    Policy,
    compared_with_baseline,
    evaluate,
    read_results,
    summary,
)
from compiler_gym.util.registration import make
from compiler_gym.validate import validate_states

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

FLAGS = flags.FLAGS

_ID = "llvm-ic-v0"


def eval_llvm_instcount_policy(policy: Policy) -> None:
    """Evaluates a policy as the flags of the program say, and ends the program.

    Each episode has a program of ``--test_dataset``, and has begun when the policy is called with
    the environment, ``llvm-ic-v0``. The policy may use the environment freely, including reset and
    fork, but must not change the benchmark or the reward space. The final state of the environment
    counts.

    The results are written to ``--leaderboard_results``: the benchmark, the reward, the seconds
    that the policy took, and the command line of ``opt``, for each episode. At the end comes their
    summary. The exit code is 1 if a result is not valid.

    Args:
        policy: A callable with an environment as its only argument. What it returns is ignored.
            With ``--leaderboard_nproc``, several threads call it at once.
    """
    app.run(lambda argv: _main(policy, argv))


def _main(policy: Policy, argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Not a flag: {' '.join(argv[1:])}")
    if not FLAGS.resume and os.path.exists(FLAGS.leaderboard_results):
        os.unlink(FLAGS.leaderboard_results)
    log = logging.FileHandler(FLAGS.leaderboard_logfile, mode="a" if FLAGS.resume else "w")
    logger = logging.getLogger("compiler_gym.leaderboard")
    logger.addHandler(log)
    logger.setLevel(logging.INFO)
    try:
        states = _evaluate(policy)
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
    results = FLAGS.leaderboard_results
    episodes = evaluate(
        policy, _make_env, benchmarks, FLAGS.n, results, nproc=FLAGS.leaderboard_nproc
    )
    for state in episodes:
        print(f"{state.benchmark}  {state.reward:.4f}  {state.walltime:.3f} s", flush=True)
    return [state for state in read_results(results) if state.benchmark in benchmarks]


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
