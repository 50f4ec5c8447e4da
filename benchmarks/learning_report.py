"""Draws learning curves on programs held back. See docs/guides/learning.md."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks import learning
from benchmarks.learning import judging


def main(
    folder: Annotated[
        Path, typer.Argument(help="Where learning.csv and learning.svg are.", file_okay=False)
    ],
    trainer: Annotated[
        list[str] | None, typer.Option(help="ppo, sb3_ppo or rllib_ppo. May be repeated.")
    ] = None,
    steps: Annotated[
        int, typer.Option(help="How many to learn from, and of a search.", min=judging.SHOWN_EVERY)
    ] = 48_000,
    seeds: Annotated[int, typer.Option(help="How often each is done.", min=1)] = 3,
    redraw: Annotated[bool, typer.Option(help="Take the numbers that are there.")] = False,
) -> None:
    """Let trainers learn, and random search search, for equally many steps; draw the curves."""
    table, points = folder / "learning.csv", []
    if redraw:
        points = learning.read(table)
    else:
        progress = Console(stderr=True)
        for seed in range(seeds):
            for name in trainer or ["ppo"]:
                with progress.status(f"{name}, seed {seed}"):
                    points += learning.learn(name, steps, seed)
            with progress.status(f"random search, seed {seed}"):
                points += learning.search(steps, seed)
        learning.write(points, table)
    learning.draw(points, folder / "learning.svg")
    print(learning.to_markdown(points), end="")


if __name__ == "__main__":
    typer.run(main)
