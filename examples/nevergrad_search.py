"""Search by Nevergrad: its optimisers choose sequences of passes, which are tried in batches."""

from typing import Annotated

import nevergrad as ng
import numpy as np
import typer

import compiler_gym


def total_rewards(envs, sequences: np.ndarray) -> np.ndarray:
    """Plays each sequence in an environment of its own; a crash is as bad as doing nothing."""
    envs.reset()
    totals, goes_on = np.zeros(len(sequences)), np.ones(len(sequences), dtype=bool)
    for actions in sequences.T:
        _, rewards, terminations, truncations, _ = envs.step(actions)
        goes_on &= ~(terminations | truncations)
        totals += rewards
    return np.where(goes_on, totals, 0)


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    optimizer: Annotated[str, typer.Option(help="Its name in Nevergrad.")] = "DiscreteOnePlusOne",
    budget: Annotated[int, typer.Option(help="How many sequences to try.")] = 1_280,
    batch: Annotated[int, typer.Option(help="How many at a time.")] = 16,
    length: Annotated[int, typer.Option(help="Of the sequences.")] = 30,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
) -> None:
    """Search for passes that save IR instructions; a reward of 1 in total is what -Oz saves."""
    with compiler_gym.make_vec("llvm-ic-v0", batch, benchmark=benchmark) as envs:
        space = envs.single_action_space
        choice = ng.p.Choice(range(space.n), repetitions=length)
        choice.random_state = np.random.RandomState(seed)
        search = ng.optimizers.registry[optimizer](choice, budget=budget, num_workers=batch)
        best, best_sequence = 0.0, []
        for tried in range(batch, budget + 1, batch):
            candidates = [search.ask() for _ in range(batch)]
            sequences = np.array([candidate.value for candidate in candidates])
            totals = total_rewards(envs, sequences)
            for candidate, total in zip(candidates, totals, strict=True):
                search.tell(candidate, -total)  # The less, the better.
            if totals.max() > best:
                best, best_sequence = totals.max(), sequences[totals.argmax()].tolist()
                print(f"{tried} sequences: {best:.4f}")
        print(f"{best:.2%} of what -Oz saves: {space.to_string(best_sequence)}")


if __name__ == "__main__":
    typer.run(main)
