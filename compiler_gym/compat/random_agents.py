"""The workers and files of :func:`compiler_gym.random_search.random_search`."""

import csv
import json
import logging
import math
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from time import monotonic, time
from typing import Any, NamedTuple

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.util.processors import processors
from compiler_gym.util.runfiles_path import create_user_logs_dir
from compiler_gym.util.tabulate import tabulate
from compiler_gym.util.thread_pool import submit
from compiler_gym.util.timer import humanize_duration

logger = logging.getLogger(__name__)

#: The names of the result files: the search and its result, the improvements, and the best
#: actions. See :func:`compiler_gym.random_search.random_search`.
METADATA = "random_search.json"
PROGRESS = "random_search_progress.csv"
BEST_ACTIONS = "random_search_best_actions.txt"

_BEST_COMMANDLINE = "random_search_best_actions_commandline.txt"
_REPLAY = "random_search_best_actions_replay.csv"
_PROGRAM = "optimized.bc"

_STEP_SECONDS = 300
_GRACE_SECONDS = 1

_REPLAY_COLUMNS = ("step", "action", "had_effect", "reward", "total_reward")


class RandomSearchProgressLogEntry(NamedTuple):
    """A row of ``random_search_progress.csv``: an improvement of the best reward.

    Attributes:
        runtime_seconds: Seconds since the start of the search.
        total_episode_count: Complete episodes of all workers.
        total_step_count: Steps of all workers.
        num_passes: Actions of the improving episode.
        reward: Cumulative reward of the improving episode.
    """

    runtime_seconds: float
    total_episode_count: int
    total_step_count: int
    num_passes: int
    reward: float

    def to_csv(self) -> str:
        """Returns the row as text, without a newline."""
        return tabulate([self], tablefmt="csv")

    @classmethod
    def from_csv(cls, line: str) -> "RandomSearchProgressLogEntry":
        """Parses a row of text.

        Raises:
            ValueError: The number of columns is wrong, or a column is not a number.
        """
        values = line.rstrip().split(",")
        if len(values) != len(cls._fields):
            raise ValueError(f"expected {','.join(cls._fields)}, got {line!r}")
        seconds, episodes, steps, passes, reward = values
        return cls(float(seconds), int(episodes), int(steps), int(passes), float(reward))


class RandomAgentWorker(threading.Thread):
    """A thread that plays episodes of random actions until it is told to stop.

    Call :meth:`start`, and set :attr:`alive` to false to end it.

    Args:
        make_env: Makes the environment of the thread, which must have a reward space.
        patience: Number of actions without a new best reward that end an episode; 0 for the
            number of actions.

    Attributes:
        alive: False to end the thread.
        total_environment_count: Environments made.
        total_episode_count: Complete episodes.
        total_step_count: Steps of all episodes.
        best_returns: The highest cumulative reward; minus infinity before the first step.
        best_actions: The actions of the best episode.
        best_commandline: The command line of the best episode.
        best_found_at_time: The time of the best reward, from ``time.time()``.
    """

    def __init__(self, make_env: Callable[[], CompilerEnv], patience: int):
        super().__init__(name="RandomAgentWorker", daemon=True)
        self._make_env = make_env
        self._patience = patience
        self.alive = True
        self.total_environment_count = 0
        self.total_episode_count = 0
        self.total_step_count = 0
        self.best_returns = -math.inf
        self.best_actions: list[Any] = []
        self.best_commandline = ""
        self.best_found_at_time = time()

    def run(self) -> None:
        """Plays episodes; called by :meth:`start`."""
        with self._make_env() as env:
            self.total_environment_count += 1
            while self.alive:
                env.reset(benchmark=env.benchmark)
                patience = self._patience or env.action_space.n
                if _play_episode(env, patience, self._consider, lambda: not self.alive):
                    self.total_episode_count += 1

    def _consider(self, env: CompilerEnv) -> bool:
        self.total_step_count += 1
        reward = float(env.episode_reward or 0)
        if reward <= self.best_returns:
            return False
        self.best_actions, self.best_commandline = env.actions, env.commandline()
        self.best_returns, self.best_found_at_time = reward, time()
        return True


def replay_actions_from_logs(
    env: CompilerEnv, logdir: str | Path, benchmark: str | Benchmark | None = None
) -> None:
    """Replays the best actions of a random search, prints each step and rewrites the results.

    Args:
        env: An environment with a reward space. The replay leaves it in the best state.
        logdir: The folder of the search. Files of a former replay are overwritten.
        benchmark: The benchmark; by default that of the search.

    Raises:
        FileNotFoundError: The folder has no random search.
    """
    folder = Path(logdir)
    metadata = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    rows = _replay(env, folder, benchmark or metadata["benchmark"])
    print(tabulate(rows, _REPLAY_COLUMNS, tablefmt="simple"))


def search(
    make_env: Callable[[], CompilerEnv],
    outdir: str | Path | None,
    total_runtime: float | None,
    patience: int,
    nproc: int | None,
    skip_done: bool,
) -> CompilerEnv:
    """Implements :func:`compiler_gym.random_search.random_search`."""
    workers = processors() if nproc is None else nproc
    if workers < 1 or patience < 0 or (total_runtime is not None and total_runtime <= 0):
        raise ValueError(
            f"expected a positive time and number of workers, and a patience of at least 0, got "
            f"{total_runtime} seconds, {nproc} workers and patience {patience}"
        )
    env = make_env()
    try:
        if env.reward_space is None:
            raise ValueError(
                "expected an environment with a reward space, got none; pass reward_space="
            )
        folder = create_user_logs_dir("random_search") if outdir is None else Path(outdir)
        folder.mkdir(parents=True, exist_ok=True)
        env.reset()
        if not (skip_done and _is_done(folder)):
            found = _Findings(folder, env, patience, total_runtime)
            _run_workers(make_env, found, total_runtime, workers)
            found.write()
        _replay(env, folder, env.benchmark)
        return env
    except BaseException:
        env.close()
        raise


def _is_done(folder: Path) -> bool:
    path = folder / METADATA
    return path.is_file() and "best_reward" in json.loads(path.read_text(encoding="utf-8"))


def _run_workers(
    make_env: Callable[[], CompilerEnv],
    found: "_Findings",
    total_runtime: float | None,
    count: int,
) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(count, "random_search") as executor:
        try:
            jobs = [submit(executor, _work, make_env, found, stop) for _ in range(count)]
            ended, _ = wait(jobs, timeout=total_runtime, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            logger.info("The search was interrupted")
            return
        finally:
            stop.set()
        for job in ended:
            job.result()  # Raises the exception of the worker.


def _work(make_env: Callable[[], CompilerEnv], found: "_Findings", stop: threading.Event) -> None:
    """Plays episodes until told to stop."""
    with make_env() as env:
        while not stop.is_set():
            env.reset(benchmark=found.benchmark)
            patience = found.patience or env.action_space.n
            if _play_episode(env, patience, found.consider, stop.is_set, found.step_seconds):
                found.count_episode()


def _play_episode(
    env: CompilerEnv,
    patience: int,
    consider: Callable[[CompilerEnv], bool],
    is_stopped: Callable[[], bool],
    step_seconds: Callable[[], float] = lambda: _STEP_SECONDS,
) -> bool:
    """Plays an episode. Returns true if it ended before the worker was stopped."""
    left = patience
    while left > 0:
        if is_stopped():
            return False
        _, _, done, info = env.step(env.action_space.sample(), timeout=step_seconds())
        if "error_type" in info:
            break
        left = patience if consider(env) else left - 1
        if done:
            break
    return True


class _Findings:
    """The results of all workers so far.

    Attributes:
        benchmark: The benchmark of all workers.
        patience: Same as in the search.
    """

    def __init__(self, folder: Path, env: CompilerEnv, patience: int, total_runtime: float | None):
        self.benchmark = env.benchmark
        self.patience = patience
        self._total_runtime = math.inf if total_runtime is None else total_runtime
        self._folder = folder
        self._lock = threading.Lock()
        self._start = monotonic()
        self._episodes = 0
        self._steps = 0
        self._reward = 0.0
        self._actions: list[Any] = []
        self._metadata: dict[str, Any] = {
            "env": env.spec.id if env.spec else None,
            "benchmark": str(env.benchmark),
            "action_space": getattr(env.action_space, "name", None),
            "reward": env.reward_space.name if env.reward_space else None,
            "patience": int(patience or env.action_space.n),
        }
        self._write_metadata()
        with (folder / PROGRESS).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(RandomSearchProgressLogEntry._fields)

    def step_seconds(self) -> float:
        """Returns the time limit of a step, so that a hanging one does not delay the end."""
        left = self._total_runtime - (monotonic() - self._start)
        return min(max(left, 0) + _GRACE_SECONDS, _STEP_SECONDS)

    def count_episode(self) -> None:
        """Counts an episode."""
        with self._lock:
            self._episodes += 1

    def consider(self, env: CompilerEnv) -> bool:
        """Counts a step. Returns true if its reward is the best so far."""
        with self._lock:
            self._steps += 1
            reward = float(env.episode_reward or 0)
            if reward <= self._reward:
                return False
            self._reward, self._actions = reward, env.actions
            runtime = monotonic() - self._start
            entry = RandomSearchProgressLogEntry(
                runtime, self._episodes, self._steps, len(self._actions), reward
            )
            with (self._folder / PROGRESS).open("a", encoding="utf-8") as file:
                file.write(f"{entry.to_csv()}\n")
        logger.info(
            "Reward %.4f of %d actions after %s",
            reward,
            entry.num_passes,
            humanize_duration(runtime),
        )
        return True

    def write(self) -> None:
        """Writes the best actions, and marks the search as done."""
        lines = "".join(f"{action}\n" for action in self._actions)
        (self._folder / BEST_ACTIONS).write_text(lines, encoding="utf-8")
        self._metadata |= {
            "runtime_seconds": monotonic() - self._start,
            "total_episode_count": self._episodes,
            "total_step_count": self._steps,
            "best_reward": self._reward,
        }
        self._write_metadata()

    def _write_metadata(self) -> None:
        text = json.dumps(self._metadata, indent=2)
        (self._folder / METADATA).write_text(text + "\n", encoding="utf-8")


def _replay(
    env: CompilerEnv, folder: Path, benchmark: str | Benchmark | None
) -> list[tuple[Any, ...]]:
    """Replays the best actions. Writes and returns a row for each step."""
    rows = []
    env.reset(benchmark=benchmark)
    lines = (folder / BEST_ACTIONS).read_text(encoding="utf-8").splitlines()
    with (folder / _REPLAY).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_REPLAY_COLUMNS)
        for i, action in enumerate(map(int, lines), start=1):
            _, reward, _, info = env.step(action)
            had_effect = not info.get("action_had_no_effect", False)
            rows.append((i, action, had_effect, reward, env.episode_reward))
            writer.writerow(rows[-1])
    (folder / _BEST_COMMANDLINE).write_text(env.commandline() + "\n", encoding="utf-8")
    if hasattr(env, "write_bitcode"):
        env.write_bitcode(folder / _PROGRAM)
    return rows
