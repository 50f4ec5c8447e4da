"""Tells what the features of a program bring to the choice of the next piece of a sequence."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from sklearn.ensemble import ExtraTreesRegressor

import compiler_gym
from compiler_gym.datasets.selection import breadth_first
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.tuning.policies.policy import COST, Policy, cost_after, features_of

Pieces = Sequence[Sequence[str]]
Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Returns the expected gain of each piece for features of a state, and how often each was kept."""


class Episode:
    """An episode that has run the first piece.

    Args:
        env: The environment, which has been reset.
        pieces: All pieces.

    Attributes:
        cost: The number of IR instructions.
        kept: float64 [pieces], how often each was kept.
        passes: The number of passes that were tried.
    """

    def __init__(self, env: LlvmEnv, pieces: Pieces):
        self._env = env
        self._pieces = pieces
        self.kept = np.zeros(len(pieces))
        self.passes = 0
        self.first_cost = self.cost = int(env.observation[COST])
        self.play(0)

    @property
    def features(self) -> np.ndarray:
        """float64 [features], of the program as it is, and what the passes did so far."""
        shrunk = math.log(max(self.first_cost, 1) / max(self.cost, 1))
        return np.concatenate([features_of(self._env), [shrunk]])

    def gains(self) -> np.ndarray:
        """Tries all pieces. Returns float64 [pieces], their reductions of the logarithm."""
        costs = [cost_after(self._env, piece) for piece in self._pieces]
        return np.array(
            [math.log(self.cost / min(self.cost, math.inf if c is None else c)) for c in costs]
        )

    def play(self, number: int) -> None:
        """Plays a piece, and keeps it unless the program becomes larger."""
        piece = self._pieces[number]
        self.passes += len(piece)
        cost = cost_after(self._env, piece)
        if cost is not None and cost <= self.cost:
            self._env.multistep([self._env.action_space[name] for name in piece])
            self.cost = cost
            self.kept[number] += 1


def programs(env: LlvmEnv, part: str, count: int, largest: int, seed: int) -> Iterator[str]:
    """Resets the environment to files of ``opensource-v0`` in turn, and yields their URIs."""

    def fitting() -> Iterator[str]:
        for uri in breadth_first(env.datasets, part, 20, None, seed):
            if "opensource-v0" in uri:
                env.reset(benchmark=uri)
                if 100 <= int(env.observation[COST]) <= largest:
                    yield uri

    return islice(fitting(), count)


def explored(
    env: LlvmEnv, uris: Iterator[str], pieces: Pieces, states: int, rng: random.Random
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tries all pieces in states of random episodes.

    Returns:
        Features float64 [states, features], kept pieces and gains float64 [states, pieces].
    """
    rows = []
    for _ in uris:
        episode = Episode(env, pieces)
        for _ in range(states):
            rows.append((episode.features, episode.kept.copy(), episode.gains()))
            episode.play(rng.randrange(1, len(pieces)))
    features, kept, gains = zip(*rows, strict=True)
    return np.array(features), np.array(kept), np.array(gains)


def judged(
    env: LlvmEnv, uris: Iterator[str], pieces: Pieces, most: int, ways: dict[str, Choose | None]
) -> dict[str, float]:
    """Plays episodes of at most that many passes; None stands for the order of the policy.

    Returns:
        For each way the geometric mean of the instructions, as a share of those with -Oz.
    """
    logarithms: dict[str, list[float]] = {name: [] for name in ways}
    for uri in uris:
        baseline = max(int(env.observation[f"{COST}Oz"]), 1)
        for name, choose in ways.items():
            env.reset(benchmark=uri)
            episode = Episode(env, pieces)
            for number in _order(episode, pieces, most, choose):
                episode.play(number)
            logarithms[name].append(math.log(episode.cost / baseline))
    return {name: math.exp(np.mean(values)) for name, values in logarithms.items()}


def _order(episode: Episode, pieces: Pieces, most: int, choose: Choose | None) -> Iterator[int]:
    """Yields the pieces to play, as long as there are passes left."""
    untried = [*range(1, len(pieces))]
    while True:
        fitting = [it for it in untried if episode.passes + len(pieces[it]) <= most]
        if not fitting:
            return
        number = fitting[0]
        if choose is not None:
            expected = choose(episode.features, episode.kept)
            number = max(fitting, key=lambda it: float(expected[it]))
        untried.remove(number)
        yield number


def _forest(inputs: np.ndarray, gains: np.ndarray, seed: int) -> ExtraTreesRegressor:
    forest = ExtraTreesRegressor(200, min_samples_leaf=4, n_jobs=1, random_state=seed)
    return forest.fit(inputs, gains)


def main(
    train: Annotated[int, typer.Option(help="Files of the part train.", min=2)] = 120,
    test: Annotated[int, typer.Option(help="Files of the part test.", min=1)] = 100,
    states: Annotated[int, typer.Option(help="States of each file to learn from.", min=1)] = 8,
    most: Annotated[int, typer.Option(help="Passes in an episode.", min=1)] = 45,
    largest: Annotated[int, typer.Option(help="The most instructions of a file.")] = 4000,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
) -> None:
    """Learn which piece of pieces gains most next, with and without features of the program."""
    pieces = Policy.load("pieces").sequences
    console = Console(stderr=True)
    with compiler_gym.make("llvm-v0") as env, console.status("Trying pieces"):
        assert isinstance(env, LlvmEnv)
        files = programs(env, "train", train, largest, seed)
        features, kept, gains = explored(env, files, pieces, states, random.Random(seed))
        with_features = _forest(np.hstack([features, kept]), gains, seed)
        without = _forest(kept, gains, seed)
        mean = gains.mean(axis=0)
        ways: dict[str, Choose | None] = {
            "order of the policy": None,
            "largest mean gain": lambda features, kept: mean,
            "learnt from the pieces kept": lambda features, kept: without.predict([kept])[0],
            "learnt from these and the features": lambda features, kept: with_features.predict(
                [np.concatenate([features, kept])]
            )[0],
        }
        console.print(f"{len(gains)} states")
        results = judged(env, programs(env, "test", test, largest, seed), pieces, most, ways)
    print(f"| choice of the next piece, {most} passes | share of -Oz |\n| --- | ---: |")
    for name, share in results.items():
        print(f"| {name} | {share:.2%} |")


if __name__ == "__main__":
    typer.run(main)
