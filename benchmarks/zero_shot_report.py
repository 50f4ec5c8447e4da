"""Compares policies on programs that none of them has seen. See docs/guides/learning.md."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import compiler_gym
from benchmarks.zero_shot.experiment import Experiment, read_results, read_sizes
from benchmarks.zero_shot.methods import COMPARED, all_methods
from benchmarks.zero_shot.options import Methods, Part, Redraw
from benchmarks.zero_shot.tables import comparisons_to_markdown, draw, to_markdown
from benchmarks.zero_shot.task import ENV_ID, programs

# The number of files to draw from a package, of which some are left out.
_OF_A_PACKAGE = 7


def main(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of zero_shot.csv, zero_shot_programs.csv and zero_shot.svg.",
            file_okay=False,
        ),
    ],
    method: Methods = None,
    steps: Annotated[
        int, typer.Option(help="Passes to learn from, and of searches.", min=1)
    ] = 10_000,
    seeds: Annotated[int, typer.Option(help="Number of seeds of each method.", min=1)] = 5,
    training_files: Annotated[int, typer.Option(help="Files to draw from a package.", min=0)] = 5,
    files: Annotated[int, typer.Option(help="Files to judge by.", min=0)] = 60,
    models: Annotated[
        Path | None, typer.Option(help="Folder of trained models; that of the results by default.")
    ] = None,
    part: Part = "test",
    redraw: Redraw = False,
) -> None:
    """Train policies, and judge them on other programs. Continues after an interruption."""
    if not redraw:
        progress = Console(stderr=True)
        with progress.status("programs"), compiler_gym.make(ENV_ID) as env:
            training = programs(env, "train", training_files)
            test = programs(env, part, _OF_A_PACKAGE, files)
        experiment = Experiment(training, test, steps, folder, models or folder)
        for name, each in all_methods().items():
            if name not in method if method else each.is_variant:
                continue
            experiment.run_seeds(name, seeds, progress)
    results = read_results(folder / "zero_shot.csv")
    sizes = read_sizes(folder / "zero_shot_programs.csv")
    draw(results, folder / "zero_shot.svg")
    print(to_markdown(results))
    print(comparisons_to_markdown(sizes, COMPARED), end="")


if __name__ == "__main__":
    typer.run(main)
