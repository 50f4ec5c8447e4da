"""Genetic search: sequences of passes that are crossed and mutated, tried many at a time."""

from typing import Annotated

import numpy as np
import typer

import compiler_gym


def total_rewards(envs, population: np.ndarray) -> np.ndarray:
    """Plays each sequence in an environment of its own; a crash is worse than all else."""
    envs.reset()
    totals = np.zeros(len(population))
    for actions in population.T:
        _, rewards, terminations, truncations, _ = envs.step(actions)
        totals += np.where(terminations | truncations, -np.inf, rewards)
    return totals


def next_generation(
    population: np.ndarray, totals: np.ndarray, n_actions: int, rng: np.random.Generator
) -> np.ndarray:
    """Keeps the best quarter, and fills up with its mutated children."""
    size, length = population.shape
    best = population[np.argsort(-totals, kind="stable")[: max(size // 4, 2)]]
    parents = rng.integers(len(best), size=(2, size - len(best)))
    first_part = np.arange(length) < rng.integers(1, length, size=(size - len(best), 1))
    children = np.where(first_part, best[parents[0]], best[parents[1]])
    mutated = rng.random(children.shape) < 1.5 / length
    children[mutated] = rng.integers(n_actions, size=mutated.sum())
    return np.concatenate([best, children])


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    size: Annotated[int, typer.Option(help="Of the population.", min=4)] = 32,
    length: Annotated[int, typer.Option(help="Of the sequences.", min=2)] = 30,
    generations: Annotated[int, typer.Option(help="How many.")] = 40,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
) -> None:
    """Search for passes that save IR instructions; a reward of 1 in total is what -Oz saves."""
    rng = np.random.default_rng(seed)
    with compiler_gym.make_vec("llvm-ic-v0", size, benchmark=benchmark) as envs:
        space = envs.single_action_space
        population = rng.integers(space.n, size=(size, length))
        for generation in range(generations):
            totals = total_rewards(envs, population)
            best = population[np.argmax(totals)]
            print(f"generation {generation}: {totals.max():.4f}")
            population = next_generation(population, totals, space.n, rng)
        print(f"{totals.max():.2%} of what -Oz saves: {space.to_string(best.tolist())}")


if __name__ == "__main__":
    typer.run(main)
