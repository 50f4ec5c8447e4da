"""Measures how far a search for passes gets over time. See docs/performance.md."""

import csv
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym import make
from compiler_gym.cli.sequence_search import Game, find

PROGRAMS = ["sha256", "json", "fft", "containers"]
SECONDS = (1, 2, 5, 10, 20, 40, 60)


def main(
    folder: Annotated[Path, typer.Argument(help="The folder of search.csv.", file_okay=False)],
    program: Annotated[list[str] | None, typer.Option(help="A program of kernels-v0.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of the searches.")] = 0,
) -> None:
    """Search for 60 seconds for each program, and write the results over time."""
    columns = {name: measure(name, seed) for name in program or PROGRAMS}
    with (folder / "search.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seconds", *columns])
        writer.writerows(zip(SECONDS, *columns.values(), strict=True))


def measure(program: str, seed: int) -> list[str]:
    """Searches for one program.

    Returns:
        The IR instructions of the best result after each of the times, in percent of ``-Oz``.
    """
    game, stop = Game(f"benchmark://kernels-v0/{program}"), threading.Event()
    with make("llvm-v0", benchmark=game.uri) as env:
        limit = SECONDS[-1] * 2.0
        search = threading.Thread(target=find, args=(env, game, stop, limit, seed))
        start = time.monotonic()
        search.start()
        results = []
        for seconds in SECONDS:
            search.join(max(start + seconds - time.monotonic(), 0))
            ratio = game.ratio
            assert ratio is not None, f"{program}: no result after {seconds} seconds"
            results.append(f"{100 * ratio:.2f}")
        stop.set()
        search.join()
    return results


if __name__ == "__main__":
    typer.run(main)
