"""Local search over inlining: changes one decision of clang -Oz after the other, if that helps."""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import typer

import compiler_gym


def moves(env) -> Iterator[str]:
    """Yields decisions other than LLVM's: about all calls of a function first, small ones first."""
    sites = {name: np.asarray(column) for name, column in env.observation["InlineSites"].items()}
    sizes = np.asarray(env.observation["InlineSiteFeatures"]["callee_TotalInstructionCount"])
    asked = sites["open"] * (sites["inlined"] + sites["kept"])
    groups = [
        (f"callee-{callee}", np.flatnonzero((sites["callee_number"] == callee) * asked))
        for callee in np.unique(sites["callee_number"])
    ]
    groups = [(name, members) for name, members in groups if len(members)]
    singles = [(f"site-{site}", [site]) for _, group in groups if len(group) > 1 for site in group]
    for some in (groups, singles):
        for name, members in sorted(some, key=lambda each: sizes[each[1]].max()):
            for kind, choice in (("kept", "inline"), ("inlined", "keep")):
                if sites[kind][members].any() and f"{name}-{choice}" in env.action_space.names:
                    yield f"{name}-{choice}"


def search(env, budget: int) -> Iterator[tuple[int, float]]:
    """Yields how many decisions were tried, and the total reward. The environment is the best."""
    env.reset()
    tried, improved = 0, True
    while improved:
        improved = False
        for move in moves(env):
            if tried == budget:
                return
            tried += 1
            with env.fork() as fork:
                better = fork.step(env.action_space[move])[1] > 0
            if better:
                env.step(env.action_space[move])
            improved |= better
            yield tried, env.episode_reward


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    budget: Annotated[int, typer.Option(help="How many decisions to try.")] = 100,
) -> None:
    """Search for decisions that make the code smaller than clang -Oz does."""
    with compiler_gym.make("llvm-inline-v0", benchmark=benchmark, action_space="AnyOrder") as env:
        for tried, reward in search(env, budget):
            print(f"{tried:4} {reward:7.2%}")
        print(f"{env.episode_reward:.2%} smaller than -Oz: {env.commandline()}")


if __name__ == "__main__":
    typer.run(main)
