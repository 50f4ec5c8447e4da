"""Compares policies by the best of k episodes of 45 passes. See docs/guides/learning.md."""

import csv
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, NamedTuple

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
from benchmarks.zero_shot.piece_training import Ensemble, PieceLearner, Player, play_at_random
from benchmarks.zero_shot.state_features import Features
from benchmarks.zero_shot.tables import (
    LIKELIEST,
    Curves,
    budgets_to_markdown,
    draw_budgets,
    seeds_to_markdown,
)
from benchmarks.zero_shot.task import programs_by_package
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.util.statistics import geometric_mean

SHIPPED, PORTFOLIO, NEAREST = "`pieces45`", "portfolio of lists", "lists of nearest programs"
CORESET, RANDOM = "`coreset` in pieces", "random pieces"
ORDERED = (SHIPPED, CORESET, PORTFOLIO, NEAREST)
"""Policies whose first k lists are their best of k."""

CURVE, TABLE = "learning.csv", "zero_shot_programs.csv"
EPISODES = 25
"""Episodes of each policy and program."""

# Lists are tried on so many training programs. They come from others, and from the coreset.
_TRIED, _SEARCHED, _OF_CORESET = 75, 36, 3
_TRAINING = 150
_SAVED_SECONDS = 240
_NOTED_ACTIONS = 25_000
_LARGEST_TRAINING, _LARGEST_JUDGED = 1_000, 4_000
_TITLES = {
    Features.AUTOPHASE: "PPO",
    Features.IR2VEC: "PPO on IR2Vec",
    Features.GRAPH: "PPO on graphs",
}


class Setting(NamedTuple):
    """A setting of training and judging: see the options of :func:`main`."""

    folder: Path
    seeds: int
    actions: int
    training: int
    files: int
    part: str
    features: Features

    @property
    def title(self) -> str:
        """The name of the policy in tables."""
        more = "" if self.training == _TRAINING else f", {self.training} programs"
        return f"{_TITLES[self.features]}{more}"

    def state(self, seed: int) -> Path:
        """Returns the file of the state of a training."""
        names = [
            "ppo",
            *([self.features.value] if self.features != Features.AUTOPHASE else []),
            *([str(self.training)] if self.training != _TRAINING else []),
            str(seed),
        ]
        return self.folder / f"{'-'.join(names)}.pkl"


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


def judge_player(
    known: KnownStates, programs: list[str], player: Player, title: str, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the column of each episode of a player, and the instructions after it."""
    for draw in range(EPISODES):
        episodes = Episodes(known, programs)
        player.play(episodes, np.random.default_rng((seed, draw)))
        yield f"{title}, drawn/{seed * EPISODES + draw}", episodes.costs
    episodes = Episodes(known, programs)
    player.play(episodes)
    yield f"{title}{LIKELIEST}/{seed}", episodes.costs


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
    training: Annotated[int, typer.Option(help="Programs to learn from.", min=1)] = _TRAINING,
    files: Annotated[int, typer.Option(help="Programs to judge by.", min=1)] = 60,
    part: Part = "validation",
    features: Annotated[
        Features, typer.Option(help="The features of programs that the network sees.")
    ] = Features.AUTOPHASE,
    redraw: Redraw = False,
) -> None:
    """Train a network by PPO, and judge it. Continues after an interruption."""
    if not redraw:
        folder.mkdir(parents=True, exist_ok=True)
        with compiler_gym.make("llvm-v0", analyses="fresh") as env:
            known = KnownStates(env, folder / "states.npz", features)
            with closing(known):
                _run(env, known, Setting(folder, seeds, actions, training, files, part, features))
    sizes = read_sizes(folder / TABLE)
    draw_budgets(_read_curves(folder / CURVE), sizes, ORDERED, folder / "budgets.svg")
    print(budgets_to_markdown(sizes, (SHIPPED, PORTFOLIO), ORDERED))
    print(seeds_to_markdown(sizes, PORTFOLIO, ORDERED, EPISODES), end="")


def _run(env: LlvmEnv, known: KnownStates, setting: Setting) -> None:
    """Trains and judges, unless the results are there."""
    progress, table = Console(stderr=True), setting.folder / TABLE
    learnt = programs_by_package(env, "train", setting.training, _LARGEST_TRAINING)
    setting = setting._replace(training=len(learnt))  # There may be fewer.
    held_out = programs_by_package(env, "validation", setting.files, _LARGEST_JUDGED)
    programs = programs_by_package(env, setting.part, setting.files, _LARGEST_JUDGED)
    sizes = read_sizes(table) or sizes_of(env, setting.part, programs)
    baseline = sizes_of(env, "validation", held_out)["Oz"]

    def add(columns: Iterable[tuple[str, np.ndarray]]) -> None:
        for name, costs in columns:
            sizes[name] = dict(zip(programs, map(float, costs), strict=True))
        known.save()
        write_sizes(sizes, table)

    def judge(player: Player, title: str, seed: int = 0) -> None:
        if f"{title}{LIKELIEST}/{seed}" not in sizes:
            add(judge_player(known, programs, player, title, seed))

    learners = []
    for seed in range(setting.seeds):
        learner = PieceLearner(known, learnt, seed, setting.state(seed))
        learners.append(learner)
        with progress.status(f"{setting.title}, seed {seed}"):
            train(learner, known, baseline, setting.actions)
            _write_curves(setting, learners)
            if f"{SHIPPED}/0" not in sizes:
                for policy, episodes in judge_lists(known, learnt, programs).items():
                    add((f"{policy}/{number}", costs) for number, costs in enumerate(episodes))
            judge(learner.chooser, setting.title, seed)
    if len(learners) > 1:
        ensemble = Ensemble([each.chooser for each in learners])
        judge(ensemble, f"{setting.title}, {len(learners)} networks")


def _read_curves(path: Path) -> Curves:
    curves: Curves = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                key = row.pop("policy"), int(row.pop("seed"))
                curves.setdefault(key, []).append({name: float(row[name]) for name in row})
    return curves


def _write_curves(setting: Setting, learners: list[PieceLearner]) -> None:
    """Writes the learning curve of each seed, beside those of other settings."""
    path = setting.folder / CURVE
    curves = _read_curves(path)
    curves |= {(setting.title, seed): each.curve for seed, each in enumerate(learners)}
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["policy", "seed", *learners[0].curve[0]])
        for key, points in curves.items():
            for point in points:
                ratios = (f"{point[name]:.4f}" for name in ("likeliest", "drawn"))
                rows.writerow([*key, int(point["actions"]), int(point["passes"]), *ratios])


if __name__ == "__main__":
    typer.run(main)
