"""Searches for passes of MLIR with which a kernel runs faster, at random and then by small changes.

$ python mlir_search.py matmul-256 conv-2d-nhwc jacobi-2d --steps=300
"""

import argparse
import random

import numpy as np

import compiler_gym
from compiler_gym.errors import ServiceError

FINISH = ["canonicalize", "vectorize", "vector-contract", "canonicalize", "vector-hoist"]
FINISHES = [
    [],
    FINISH,
    ["linalg-to-affine", "affine-scalrep"],
    ["linalg-to-affine", "affine-vectorize<8>"],
]


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
    names = list(names)
    what = chosen.random()
    if what < 0.3 or not names:
        tiles = chosen.sample(choices[:60], chosen.randrange(1, 6))
        return tiles + chosen.choice(FINISHES)
    place = chosen.randrange(len(names))
    if what < 0.5:
        del names[place]
    elif what < 0.75:
        names.insert(place, chosen.choice(choices))
    else:
        names[place] = chosen.choice(choices)
    return names


def search(env, steps, seed):
    """Returns the best actions that were found."""
    chosen = random.Random(seed)
    best, seconds = [], measure(env, [], 5)
    for _ in range(steps):
        names = change(best, env.action_space.names, chosen)
        if measure(env, names, 1) < seconds and (again := measure(env, names, 5)) < seconds:
            best, seconds = names, again
    return best


def main():
    """Searches for each kernel, and measures what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for kernel in args.kernels:
        with compiler_gym.make("mlir-v0", benchmark=f"benchmark://mlir-kernels-v0/{kernel}") as env:
            best = search(env, args.steps, args.seed)
            before, after = (measure(env, names, 30) for names in ([], best))
            times = f"{before * 1e3:.3f} ms, then {after * 1e3:.3f} ms, {before / after:.2f} x"
            print(f"{kernel}: {times}: {' '.join(best)}", flush=True)


if __name__ == "__main__":
    main()
