"""The run time of the program as the reward."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.spaces.reward import RuntimeReward
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class RuntimePointEstimateReward(CompilerEnvWrapper):
    """Rewards each step by the seconds that it saves in a run of the program.

    It adds the reward ``runtime`` and selects it. The protocol of a measurement is:

    1. the program is built, unless the actions since the last measurement left it as it was;
    2. it is run ``warmup_count`` times, which is not measured;
    3. it is run ``runtime_count`` times, one run after the other, and the wall time of each, from
       the start of the shell that runs the command to its end, is measured with a monotonic clock;
    4. the estimator combines the measurements. The median tolerates a few disturbed runs.

    The initial program is measured once, at the start of the episode or when this wrapper is made,
    and not again until the program changes. To know whether a difference between two programs is
    more than noise, observe ``Runtime`` of both and use
    :func:`compiler_gym.util.statistics.compare_runtimes`.

    Only benchmarks with build and run commands have a run time; ``reset()`` raises
    ``BenchmarkInitError`` for others.

    Args:
        env: An environment whose compiler can measure run time.
        runtime_count: The number of measured runs.
        warmup_count: The number of warm-up runs before them.
        estimator: Combines the measurements.
        pinning: Pin the runs to one processor, if allowed. This reduces noise for programs with a
            single thread, and is wrong for others.
    """

    def __init__(
        self,
        env: CompilerEnv,
        runtime_count: int = 30,
        warmup_count: int = 0,
        estimator: Callable[[Sequence[float]], float] = np.median,
        pinning: bool = False,
    ):
        super().__init__(env)
        measuring: Any = env  # The innermost environment has the settings of an LlvmEnv.
        measuring.runtime_observation_count = runtime_count
        measuring.runtime_warmup_runs_count = warmup_count
        if pinning:
            measuring.runtime_pinning = True
        env.reward_space = RuntimeReward(runtime_count, warmup_count, estimator)
