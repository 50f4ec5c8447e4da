"""Measures the environment's share of the time of GRPO, with a pause in place of a model.

    bazel run //benchmarks:agent_learning -- --turn-seconds 1

Plays as TRL's GRPOTrainer does: all episodes of an update are on the same program. In each turn,
the model writes a call for all of them, which takes a pause; then the calls are made one after the
other. A turn of one second is, for example, a call of 64 tokens at 64 tokens a second.
"""

import argparse
import os
import time
from itertools import pairwise

from compiler_gym.agents.tasks import tasks_of
from compiler_gym.agents.trl import CompilerTask, prepare

PASSES = ("sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "dse", "licm", "adce")


def play(
    tasks: list[CompilerTask], program: int, turns: int, turn_seconds: float
) -> tuple[float, list[float]]:
    """Plays the episodes of an update.

    Returns:
        The mean reward, and the seconds in ``reset``, in calls of tools, and in ``get_reward``.
    """
    seconds = [CompilerTask.seconds]
    for task in tasks:
        task.reset(split="train", index=program)
    seconds.append(CompilerTask.seconds)
    for turn in range(turns):
        time.sleep(turn_seconds)
        for number, task in enumerate(tasks):
            task.apply_passes([PASSES[(turn + number) % len(PASSES)]])
    seconds.append(CompilerTask.seconds)
    time.sleep(turn_seconds)
    reward = sum(task.get_reward() for task in tasks) / len(tasks)
    seconds.append(CompilerTask.seconds)
    return reward, [after - before for before, after in pairwise(seconds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=4, help="episodes of an update")
    parser.add_argument("--turns", type=int, default=8, help="calls of an episode")
    parser.add_argument("--turn-seconds", type=float, default=1.0, help="the pause of a turn")
    options = parser.parse_args()
    prepare().join()
    tasks = [CompilerTask() for _ in range(options.episodes)]
    programs = len(tasks_of("train"))
    print("update  reward  seconds  resets   calls  rewards  share of the environment")
    began = time.perf_counter()
    shares = []
    for update in range(options.updates):
        start = time.perf_counter()
        reward, waited = play(tasks, update % programs, options.turns, options.turn_seconds)
        seconds = time.perf_counter() - start
        shares.append(sum(waited) / seconds)
        parts = " ".join(f"{1000 * each:4.0f} ms" for each in waited)
        print(f"{update:6}  {reward:6.3f}  {seconds:7.2f} {parts}  {shares[-1]:.2%}")
    print(f"mean share {sum(shares) / len(shares):.2%}, load average {os.getloadavg()[0]:.1f}")
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
