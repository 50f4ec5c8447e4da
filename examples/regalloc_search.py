"""Local search over decisions of code generation: tries other answers than those of LLVM."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import compiler_gym
from compiler_gym.envs.llvm.regalloc.decisions import write_decisions

WITH_CALLS = "InlineThenEvict"


def other_evictions(env) -> list[int]:
    """Returns the candidates other than LLVM's: the two with the least weight."""
    names = list(env.observation["EvictionFeatureNames"]["name"])
    candidates = env.observation["EvictionFeatures"][:-1].reshape(-1, 33)
    weights = candidates[names.index("use_def_density")]
    default = env.observation["EvictionQuestion"]["default"]
    legal = [i for i in np.flatnonzero(env.observation["EvictionMask"]) if i != default]
    return sorted(legal, key=lambda i: weights[i])[:2]


def others(env) -> list[str]:
    """Returns the answers to the open question that are worth a try, besides LLVM's."""
    if env.action_space.name == "Priorities":
        return ["first", "last"]
    if env.action_space.name == WITH_CALLS:
        question = env.observation["InlineQuestion"]
        if question["number"] >= 0:
            return ["keep" if question["default"] else "inline"]
    return ["none" if i == 32 else f"candidate-{i}" for i in other_evictions(env)]


def search(env, budget: int) -> Iterator[tuple[int, float]]:
    """Yields how many answers were tried, and the total reward. The environment is the best.

    Questions are visited in the order in which LLVM asks them, evenly spread over the program as
    far as the budget goes. An answer other than LLVM's is kept if it makes the code smaller.
    """
    env.reset()
    if env.action_space.name == WITH_CALLS:
        answers = len(env.observation["InlineDecisions"]["default"])
        answers += 2 * len(env.observation["Evictions"]["default"])
    else:
        answers = 2 * len(env.observation[env.action_space.name]["default"])
    stride = max(1, math.ceil(answers / budget))
    tried = 0
    done = answers == 0
    while not done:
        best, answer = 0.0, "default"
        for other in others(env) if len(env.actions) % stride == 0 else ():
            if tried == budget:
                return
            tried += 1
            with env.fork() as fork:
                reward = fork.step(other)[1]
            if reward > best:
                best, answer = reward, other
        _, _, done, _ = env.step(answer)
        yield tried, env.episode_reward


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    budget: Annotated[int, typer.Option(help="How many answers to try.")] = 100,
    reward: Annotated[str, typer.Option(help="The reward space.")] = "ObjectTextSizeNorm",
    output: Annotated[
        Path | None, typer.Option(help="Write the decisions, for compiler-gym-cc --policy.")
    ] = None,
    unit: Annotated[
        str, typer.Option(help="The source that the decisions are for: the end of its path.")
    ] = "program.c",
    action_space: Annotated[
        str, typer.Option(help=f"Evictions, Priorities, or {WITH_CALLS}.")
    ] = "Evictions",
) -> None:
    """Search for answers that make the code smaller than clang -Oz does."""
    if action_space == WITH_CALLS and output is not None:
        raise typer.BadParameter("--output is for decisions about registers alone")
    with compiler_gym.make(
        "llvm-inline-regalloc-v0" if action_space == WITH_CALLS else "llvm-regalloc-v0",
        benchmark=benchmark,
        action_space=action_space,
        reward_space=reward,
    ) as env:
        best = 0.0
        for tried, total in search(env, budget):
            if total > best:
                best = total
                print(f"{tried:4} {total:.4g}")
        costs = {
            name: env.observation[name]
            for name in ("ObjectTextSizeBytes", "SpillCount", "SpillCost")
        }
        print(f"{env.episode_reward:.4g} of {reward} in total: {costs}")
        if output is not None:
            comment = f"Decisions of LLVM {env.compiler_version} about {benchmark}"
            write_decisions(output, [env.decisions(unit)], comment)


if __name__ == "__main__":
    typer.run(main)
