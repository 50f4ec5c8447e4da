"""Greedy search: in each step tries all passes on copies of the program, and takes the best."""

from typing import Annotated

import typer

import compiler_gym


def best_action(env) -> tuple[int | None, float]:
    """Returns the action with the greatest reward, and the reward; None if none is positive."""
    best, best_reward = None, 0.0
    for action in range(env.action_space.n):
        with env.fork() as fork:
            _, reward, done, _ = fork.step(action)
        if not done and reward > best_reward:
            best, best_reward = action, reward
    return best, best_reward


def search(env, max_steps: int) -> None:
    """Plays an episode until no pass helps by itself."""
    env.reset()
    for _ in range(max_steps):
        action, reward = best_action(env)
        if action is None:
            return
        env.step(action)
        print(f"{reward:+.4f}  {env.episode_reward:.4f}  {env.action_space.names[action]}")


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    max_steps: Annotated[int, typer.Option(help="How many passes at most.")] = 20,
) -> None:
    """Search for passes that save IR instructions; a reward of 1 in total is what -Oz saves."""
    with compiler_gym.make("llvm-ic-v0", benchmark=benchmark) as env:
        search(env, max_steps)
        print(f"{env.episode_reward:.2%} of what -Oz saves: {env.commandline()}")


if __name__ == "__main__":
    typer.run(main)
