"""Search by random actions."""

# This is loaded with the package, so that the name is always that of the function; the rest is not.
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler_gym.compat.random_agents import (
        RandomAgentWorker,
        RandomSearchProgressLogEntry,
        replay_actions_from_logs,
    )
    from compiler_gym.envs.compiler_env import CompilerEnv

__all__ = [
    "RandomAgentWorker",
    "RandomSearchProgressLogEntry",
    "random_search",
    "replay_actions_from_logs",
]


def random_search(
    make_env: Callable[[], "CompilerEnv"],
    outdir: str | Path | None = None,
    total_runtime: float | None = 600,
    patience: int = 0,
    nproc: int | None = None,
    skip_done: bool = False,
) -> "CompilerEnv":
    """Plays episodes of random actions, and returns an environment in the best state found.

    Writes these files:

    - ``random_search.json``: what was searched, and, at the end, what was found;
    - ``random_search_progress.csv``: a row for each improvement, with the columns runtime_seconds,
      total_episode_count, total_step_count, num_passes and reward;
    - ``random_search_best_actions.txt``: the best actions, one number in each line;
    - ``random_search_best_actions_commandline.txt``: the same as a command line of the compiler;
    - ``random_search_best_actions_replay.csv``: a row for each of them, with the columns step,
      action, had_effect, reward and total_reward;
    - ``optimized.bc``: the program after these actions, of environments that can write it.

    Args:
        make_env: Makes an environment with a reward space. It is called for each worker, by
            different threads. The benchmark of all is that of the first.
        outdir: The folder of the files; a new one in that of logs by default.
        total_runtime: Time budget in seconds; None to search until interrupted (Ctrl-C).
        patience: The number of actions without a new best reward after which an episode ends; 0
            for the size of the action space.
        nproc: The number of parallel workers; by default the number of processors.
        skip_done: If there are results in ``outdir``, return these rather than search again.

    Returns:
        A new environment in the best state; that after no actions, if none had a positive reward.
        It is to be closed.

    Raises:
        ValueError: If the environment has no reward space, or a number is not positive.
        Exception: What a worker raises; the others end then.
    """
    search = import_module("compiler_gym.compat.random_agents").search
    return search(make_env, outdir, total_runtime, patience, nproc, skip_done)


if not TYPE_CHECKING:  # Type checkers would take any name for one that is there.

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("compiler_gym.compat.random_agents"), name)
