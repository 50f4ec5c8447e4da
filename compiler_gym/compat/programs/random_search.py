"""Searches for the best sequence of actions by random ones, and shows what each of these does.

python -m compiler_gym.bin.random_search --env=llvm-ic-v0 --benchmark=kernels-v0/sha256 --runtime=10

Without --runtime, Ctrl-C ends the search.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from compiler_gym.cli.console import messages, print_line
from compiler_gym.compat.absl_flags import flags
from compiler_gym.compat.benchmark_from_flags import benchmark_from_flags
from compiler_gym.compat.env_from_flags import env_from_flags
from compiler_gym.compat.programs.flags_program import no_arguments, start
from compiler_gym.compat.programs.random_replay import print_replay_of
from compiler_gym.compat.random_agents import PROGRESS
from compiler_gym.random_search import random_search
from compiler_gym.util.flags import nproc as _nproc  # noqa: F401, defines the flag.
from compiler_gym.util.runfiles_path import create_user_logs_dir

flags.DEFINE_float("runtime", None, "For how many seconds to search.", lower_bound=0)
flags.DEFINE_integer(
    "patience",
    0,
    "How many actions without a better reward an episode goes on for; 0: as many as there are.",
    lower_bound=0,
)
flags.DEFINE_boolean("skip_done", False, "Do not search if there are results in --output_dir.")
flags.DEFINE_float("fail_threshold", None, "End with exit code 1 if the reward is less.")
flags.DEFINE_boolean("ls_reward", False, "Print the names of the rewards and exit.")


def main(argv: list[str]) -> int | None:
    """Searches; returns 1 if what is found is not good enough."""
    no_arguments(argv)
    values = flags.FLAGS
    benchmark = benchmark_from_flags()
    if values.ls_reward:
        with env_from_flags(benchmark) as env:
            print_line("\n".join(sorted(env.reward.spaces)))
        return None
    with env_from_flags(benchmark):  # A wrong flag is told about before a folder is made.
        pass
    folder = Path(values.output_dir or create_user_logs_dir("random_search"))
    print_line(f"Writing logs to {folder}")
    with _watched(folder / PROGRESS):
        env = random_search(
            make_env=lambda: env_from_flags(benchmark),
            outdir=folder,
            total_runtime=values.runtime,
            patience=values.patience,
            nproc=values.nproc,
            skip_done=values.skip_done,
        )
    with env:
        reward = env.episode_reward
        print_replay_of(env, folder)
        if values.fail_threshold is not None and reward < values.fail_threshold:
            messages().print(f"The reward {reward:.4f} is less than {values.fail_threshold:.4f}")
            return 1
    return None


@contextmanager
def _watched(path: Path) -> Iterator[None]:
    """Shows on a terminal the last line of a file of progress, while it grows."""
    console = messages()
    if not console.is_terminal:
        yield
        return
    ended = threading.Event()

    with console.status("searching") as status:

        def watch() -> None:
            while not ended.wait(0.5):
                lines = path.read_text().splitlines()[1:] if path.exists() else []
                if lines and lines[-1].count(",") == 4:
                    seconds, _, _, count, reward = lines[-1].split(",")
                    status.update(
                        f"searching; after {float(seconds):.1f} s: reward {float(reward):.4f} "
                        f"of {count} actions"
                    )

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def run() -> NoReturn:
    """Runs the program, and ends this process."""
    start(__doc__, main)
