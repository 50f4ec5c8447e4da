"""Searches for passes of MLIR with which kernels run faster: at random, and by small changes."""

import random

import numpy as np
import typer

import compiler_gym
from compiler_gym.errors import ServiceError

VECTORS = ["canonicalize", "vectorize", "vector-contract", "canonicalize", "vector-hoist"]
AFFINE = ["linalg-to-loops", "fold-memref-alias-ops", "affine-raise", "affine-scalrep"]
FINISHES = [[], VECTORS, AFFINE, ["linalg-to-affine", "affine-vectorize<8>"]]


def measure(env, names, runs):
    """The median of some runs, in seconds; infinity if there is an error or a wrong result."""
    env.reset()
    env.runtime_observation_count = runs
    try:
        _, _, done, _ = env.multistep([env.action_space[name] for name in names])
        return float("inf") if done else float(np.median(env.observation["Runtime"]))
    except (ServiceError, TimeoutError):
        return float("inf")


def change(names, choices, chosen):
    """Leaves out, adds or exchanges an action, or begins anew."""
    names, what = list(names), chosen.random()
    if what < 0.4 or not names:
        loops = [name for name in choices if name.startswith(("tile", "interchange", "generalize"))]
        return chosen.sample(loops, chosen.randrange(1, 6)) + chosen.choice(FINISHES)
    place = chosen.randrange(len(names))
    names[place : place + chosen.randrange(2)] = chosen.sample(choices, int(what < 0.8))
    return names


def search(env, steps, seed):
    """Returns the best actions that were found."""
    best, seconds, chosen = [], measure(env, [], 5), random.Random(seed)
    for _ in range(steps):
        names = change(best, env.action_space.names, chosen)
        if measure(env, names, 1) < seconds and (again := measure(env, names, 5)) < seconds:
            best, seconds = names, again
    return best


def main(kernels: list[str], steps: int = 200, seed: int = 0):
    """Search for each kernel, and measure what was found."""
    for kernel in kernels:
        with compiler_gym.make("mlir-v0", benchmark=f"benchmark://mlir-kernels-v0/{kernel}") as env:
            best = search(env, steps, seed)
            start, end = (1e3 * measure(env, names, 30) for names in ([], best))
            print(
                f"{kernel}: {start:.3f} ms, {end:.3f} ms, {start / end:.2f} x:", *best, flush=True
            )


if __name__ == "__main__":
    typer.run(main)
