"""Measures the environment's share of the time of GRPO, with a pause in place of a model.

    bazel run //benchmarks:agent_learning -- --turn-seconds 1

Plays as TRL's GRPOTrainer does: all episodes of an update are on the same program. In each turn,
the model writes a call for all of them, which takes a pause; then the calls are made one after the
other. A turn of one second is, for example, a call of 64 tokens at 64 tokens a second.
"""

import argparse
import time

from compiler_gym.agents.tasks import tasks_of
from compiler_gym.agents.trl import CompilerTask, prepare

PASSES = ("sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "dse", "licm", "adce")


def play(tasks: list[CompilerTask], program: int, turns: int, turn_seconds: float) -> float:
    """Plays the episodes of an update. Returns the mean reward."""
    for task in tasks:
        task.reset(split="train", index=program)
    for turn in range(turns):
        time.sleep(turn_seconds)
        for number, task in enumerate(tasks):
            task.apply_passes([PASSES[(turn + number) % len(PASSES)]])
    time.sleep(turn_seconds)
    return sum(task.get_reward() for task in tasks) / len(tasks)


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
    print("update  reward  seconds  environment  share")
    began = time.perf_counter()
    for update in range(options.updates):
        CompilerTask.seconds, start = 0.0, time.perf_counter()
        reward = play(tasks, update % programs, options.turns, options.turn_seconds)
        seconds = time.perf_counter() - start
        waited = CompilerTask.seconds
        print(f"{update:6}  {reward:6.3f}  {seconds:7.2f}  {waited:9.3f} s  {waited / seconds:.2%}")
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
