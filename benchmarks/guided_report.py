"""Judges a network that chooses pieces and skips passes. See docs/guides/learning.md."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

import compiler_gym
from benchmarks.zero_shot.experiment import Experiment, read_sizes
from benchmarks.zero_shot.guided import Guided, Network, Unguided
from benchmarks.zero_shot.guided_training import examples, fit, record
from benchmarks.zero_shot.methods import Method
from benchmarks.zero_shot.options import Methods, Part, Redraw
from benchmarks.zero_shot.tables import best_of_to_markdown
from benchmarks.zero_shot.task import PASSES, Setting, programs_by_package
from compiler_gym.tuning.policies.policy import Policy

FIXED = "`pieces45`"
"""The fixed list that the others are compared with, program by program."""

# Places by which pieces are moved at random in drawn episodes.
_SHUFFLING = 2.0


def methods(network: Network) -> dict[str, Method]:
    """Returns the methods that are judged, by name."""
    setting = Setting(PASSES, [])

    def shipped(name: str, *_: object) -> tuple[Policy, bool]:
        return replace(Policy.load(name), levels=False), True

    fixed = {
        name: Method(setting, {f"`{name}`": partial(shipped, name)}, is_seeded=False)
        for name in ("pieces45", "pieces")
    }
    return fixed | {
        "guided": Method(
            setting, {"guided": lambda *_: (Guided([network]), True)}, is_seeded=False
        ),
        "shuffled": Method(setting, {"pieces in random order": lambda *_: (Unguided(), False)}),
        "drawn": Method(
            setting, {"guided, random order": lambda *_: (Guided([network], _SHUFFLING), False)}
        ),
    }


def main(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of zero_shot.csv, zero_shot_programs.csv, network.npz and trials.",
            file_okay=False,
        ),
    ],
    method: Methods = None,
    seeds: Annotated[int, typer.Option(help="Episodes of each drawn method.", min=1)] = 25,
    training: Annotated[int, typer.Option(help="Programs to learn from.", min=1)] = 930,
    files: Annotated[int, typer.Option(help="Programs to judge by.", min=1)] = 60,
    largest: Annotated[int, typer.Option(help="The most IR instructions of a program.")] = 4_000,
    part: Part = "test",
    redraw: Redraw = False,
) -> None:
    """Train a network, and judge it on other programs. Continues after an interruption."""
    if not redraw:
        progress = Console(stderr=True)
        with compiler_gym.make("llvm-v0") as env:
            test = programs_by_package(env, part, files, largest)
            path = folder / "network.npz"
            if not path.exists():
                trials = folder / "trials"
                trials.mkdir(parents=True, exist_ok=True)
                for number, uri in enumerate(programs_by_package(env, "train", training, largest)):
                    with progress.status(f"{number} of {training} programs"):
                        record(env, uri, trials)
                np.savez(path, *fit(examples(trials), seed=0))
        with np.load(path) as saved:
            network = Network([*saved.values()])
        chosen = methods(network)
        experiment = Experiment([], test, 0, folder, folder, chosen)
        for name in method or chosen:
            experiment.run_seeds(name, seeds, progress)
    print(best_of_to_markdown(read_sizes(folder / "zero_shot_programs.csv"), FIXED), end="")


if __name__ == "__main__":
    typer.run(main)
