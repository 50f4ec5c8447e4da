"""Compares policies by the best of k episodes of 45 passes. See docs/guides/learning.md."""

import csv
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

import compiler_gym
from benchmarks.zero_shot.experiment import Sizes, read_sizes, write_sizes
from benchmarks.zero_shot.known_states import Episodes, KnownStates
from benchmarks.zero_shot.options import Part, Redraw
from benchmarks.zero_shot.piece_lists import (
    Portfolio,
    best_lists,
    coreset_lists,
    costs_of_lists,
    features_of,
    shipped_list,
)
from benchmarks.zero_shot.piece_training import Chooser, PieceLearner, play_at_random
from benchmarks.zero_shot.tables import budgets_to_markdown, draw_budgets
from benchmarks.zero_shot.task import programs_by_package
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.util.statistics import geometric_mean

SHIPPED, PORTFOLIO, NEAREST = "`pieces45`", "portfolio of lists", "lists of nearest programs"
CORESET, RANDOM = "`coreset` in pieces", "random pieces"
DRAWN, LIKELIEST = "PPO, drawn", "PPO, likeliest"
ORDERED = (SHIPPED, CORESET, PORTFOLIO, NEAREST)
"""Policies whose first k lists are their best of k."""

CURVE, TABLE = "learning.csv", "zero_shot_programs.csv"
EPISODES = 25
"""Episodes of each policy and program."""

# Lists are tried on so many training programs. They come from others, and from the coreset.
_TRIED, _SEARCHED, _OF_CORESET = 75, 36, 3
_SAVED_SECONDS = 240
_NOTED_ACTIONS = 25_000
_LARGEST_TRAINING, _LARGEST_JUDGED = 1_000, 4_000


def sizes_of(env: LlvmEnv, part: str, programs: list[str]) -> Sizes:
    """Returns the instructions of programs before any pass, and after -Oz."""
    facts = {each.benchmark: each for each in env.datasets["benchmark://opensource-v1"].table(part)}
    return {
        "O0": {uri: facts[uri].instructions for uri in programs},
        "Oz": {uri: facts[uri].instructions_oz for uri in programs},
    }


def train(
    learner: PieceLearner, known: KnownStates, baseline: dict[str, float], actions: int
) -> None:
    """Trains until so many actions were played, and notes the curve on other programs."""
    programs = [*baseline]

    def percent(rng: np.random.Generator | None = None) -> float:
        episodes = Episodes(known, programs)
        learner.chooser.play(episodes, rng)
        return geometric_mean(
            max(cost, 1) / baseline[uri] for cost, uri in zip(episodes.costs, programs, strict=True)
        )

    def save() -> None:
        learner.save()
        known.save()

    saved = time.monotonic()
    while True:
        last = learner.curve[-1]["actions"] if learner.curve else -_NOTED_ACTIONS
        is_done = learner.actions >= actions
        if learner.actions - last >= _NOTED_ACTIONS or (is_done and last < learner.actions):
            learner.note(likeliest=percent(), drawn=percent(np.random.default_rng(1)))
            learner.save()
        if is_done:
            save()
            return
        learner.update()
        if time.monotonic() - saved > _SAVED_SECONDS:
            save()
            saved = time.monotonic()


def judge_lists(
    known: KnownStates, training: list[str], programs: list[str]
) -> dict[str, list[np.ndarray]]:
    """Returns the instructions of all programs after each list, and after random pieces."""
    searched = best_lists(known, training[:_SEARCHED])
    lists = dict.fromkeys([shipped_list(), *coreset_lists()[:_OF_CORESET], *searched])
    portfolio = Portfolio.of(known, training[-_TRIED:], [*lists])
    costs = costs_of_lists(known, programs, portfolio.lists)
    near = [portfolio.nearest(row, EPISODES) for row in features_of(known, programs)]
    drawn = []
    for draw in range(EPISODES):
        episodes = Episodes(known, programs)
        play_at_random(episodes, np.random.default_rng(draw))
        drawn.append(episodes.costs)
    return {
        SHIPPED: [*costs_of_lists(known, programs, [shipped_list()])],
        CORESET: [*costs_of_lists(known, programs, coreset_lists())],
        PORTFOLIO: [costs[each] for each in portfolio.chosen(EPISODES)],
        NEAREST: [*np.array([costs[each, row] for row, each in enumerate(near)]).T],
        RANDOM: drawn,
    }


def judge_network(
    known: KnownStates, programs: list[str], chooser: Chooser, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the column of each episode of a network, and the instructions after it."""
    for draw in range(EPISODES):
        episodes = Episodes(known, programs)
        chooser.play(episodes, np.random.default_rng((seed, draw)))
        yield f"{DRAWN}/{seed * EPISODES + draw}", episodes.costs
    episodes = Episodes(known, programs)
    chooser.play(episodes)
    yield f"{LIKELIEST}/{seed}", episodes.costs


def main(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of the results, the states of training, and known programs.",
            file_okay=False,
        ),
    ],
    seeds: Annotated[int, typer.Option(help="Number of seeds of training.", min=1)] = 1,
    actions: Annotated[int, typer.Option(help="Actions of a training.", min=1)] = 1_000_000,
    training: Annotated[int, typer.Option(help="Programs to learn from.", min=1)] = 150,
    files: Annotated[int, typer.Option(help="Programs to judge by.", min=1)] = 60,
    part: Part = "validation",
    redraw: Redraw = False,
) -> None:
    """Train a network by PPO, and judge it. Continues after an interruption."""
    if not redraw:
        folder.mkdir(parents=True, exist_ok=True)
        with compiler_gym.make("llvm-v0", analyses="fresh") as env:
            known = KnownStates(env, folder / "states.npz")
            with closing(known):
                _run(env, known, folder, seeds, actions, training, files, part)
    with (folder / CURVE).open(newline="") as file:
        points = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    sizes = read_sizes(folder / TABLE)
    draw_budgets(points, sizes, ORDERED, folder / "budgets.svg")
    print(budgets_to_markdown(sizes, (SHIPPED, PORTFOLIO), ORDERED), end="")


def _run(
    env: LlvmEnv,
    known: KnownStates,
    folder: Path,
    seeds: int,
    actions: int,
    training: int,
    files: int,
    part: str,
) -> None:
    """Trains and judges, unless the results are there."""
    progress, table = Console(stderr=True), folder / TABLE
    learnt = programs_by_package(env, "train", training, _LARGEST_TRAINING)
    held_out = programs_by_package(env, "validation", files, _LARGEST_JUDGED)
    programs = programs_by_package(env, part, files, _LARGEST_JUDGED)
    sizes = read_sizes(table) or sizes_of(env, part, programs)

    def add(columns: Iterable[tuple[str, np.ndarray]]) -> None:
        for name, costs in columns:
            sizes[name] = dict(zip(programs, map(float, costs), strict=True))
        known.save()
        write_sizes(sizes, table)

    learners = []
    for seed in range(seeds):
        learner = PieceLearner(known, learnt, seed, folder / f"ppo-{seed}.pkl")
        learners.append(learner)
        with progress.status(f"seed {seed}"):
            train(learner, known, sizes_of(env, "validation", held_out)["Oz"], actions)
            _write_curves(learners, folder / CURVE)
            if f"{SHIPPED}/0" not in sizes:
                for policy, episodes in judge_lists(known, learnt, programs).items():
                    add((f"{policy}/{number}", costs) for number, costs in enumerate(episodes))
            if f"{LIKELIEST}/{seed}" not in sizes:
                add(judge_network(known, programs, learner.chooser, seed))


def _write_curves(learners: list[PieceLearner], path: Path) -> None:
    """Writes the learning curve of each seed."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["seed", *learners[0].curve[0]])
        for seed, learner in enumerate(learners):
            for point in learner.curve:
                ratios = (f"{point[name]:.4f}" for name in ("likeliest", "drawn"))
                rows.writerow([seed, int(point["actions"]), int(point["passes"]), *ratios])


if __name__ == "__main__":
    typer.run(main)
