"""Beam search: keeps the few best programs, tries all passes on each, and keeps the best again."""

from contextlib import ExitStack
from typing import Annotated

import typer

import compiler_gym


def successors(env) -> list[tuple[float, str, list[int]]]:
    """Returns total reward, hash and actions of all programs that one more pass leads to."""
    found = []
    for action in range(env.action_space.n):
        with env.fork() as fork:
            _, _, done, info = fork.step(action)
            if not done and not info["action_had_no_effect"]:
                found.append((fork.episode_reward, fork.ir_sha1, fork.actions))
    return found


def search(env, width: int, depth: int) -> tuple[float, list[int]]:
    """Returns the greatest total reward that was seen, and the actions that lead to it."""
    env.reset()
    best, beam = (0.0, []), [[]]
    for _ in range(depth):
        found = {}
        for actions in beam:
            with ExitStack() as stack:
                node = stack.enter_context(env.fork())
                node.multistep(actions)
                for reward, sha1, longer in successors(node):
                    # Of several ways to the same program one is enough.
                    found.setdefault(sha1, (reward, longer))
        ranked = sorted(found.values(), reverse=True)[:width]
        if not ranked:
            break
        beam = [actions for _, actions in ranked]
        best = max(best, ranked[0])
        print(f"{best[0]:.4f} with {len(best[1])} passes")
    return best


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    width: Annotated[int, typer.Option(help="How many programs to keep.", min=1)] = 4,
    depth: Annotated[int, typer.Option(help="How many passes at most.")] = 8,
) -> None:
    """Search for passes that save IR instructions; a reward of 1 in total is what -Oz saves."""
    with compiler_gym.make("llvm-ic-v0", benchmark=benchmark) as env:
        reward, actions = search(env, width, depth)
        print(f"{reward:.2%} of what -Oz saves: {env.action_space.to_string(actions)}")


if __name__ == "__main__":
    typer.run(main)
