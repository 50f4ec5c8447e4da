"""Training and judging of methods, with results that are kept in files."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.zero_shot.methods import Arrays, Method, all_methods


class Result(NamedTuple):
    """The result of a method with a seed.

    Attributes:
        method: The name of the method.
        seed: The seed of training and of judging.
        steps: The number of passes run before, to learn or to search.
        best: The geometric mean over programs of the smallest size on the way, divided by -Oz.
        final: The same for the end of the episode.
    """

    method: str
    seed: int
    steps: int
    best: float
    final: float


def read_results(path: Path) -> list[Result]:
    """Reads results; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Result(
                row["method"],
                int(row["seed"]),
                int(row["steps"]),
                float(row["best"]),
                float(row["final"]),
            )
            for row in csv.DictReader(file)
        ]


def write_results(results: Iterable[Result], path: Path) -> None:
    """Writes results as CSV."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Result._fields)
        rows.writerows((*each[:3], f"{each.best:.4f}", f"{each.final:.4f}") for each in results)


Sizes = dict[str, dict[str, float]]
"""IR instructions by column and program: ``O0``, ``Oz``, and the smallest size of each policy."""


def read_sizes(path: Path) -> Sizes:
    """Reads sizes; none if there is no file."""
    sizes: Sizes = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                program = row.pop("program")
                for column, size in row.items():
                    if size:
                        sizes.setdefault(column, {})[program] = float(size)
    return sizes


def write_sizes(sizes: Sizes, path: Path) -> None:
    """Writes sizes as CSV: a row for each program."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["program", *sizes])
        for program in sizes["O0"]:
            cells = (column.get(program) for column in sizes.values())
            rows.writerow([program, *("" if cell is None else f"{cell:.0f}" for cell in cells)])


class Experiment:
    """Trains and judges methods, and keeps what is done in files.

    Args:
        training: The programs to learn from.
        test: The programs to judge by.
        passes: The number of passes to learn from.
        folder: Where the results are: ``zero_shot.csv``, and ``zero_shot_programs.csv``.
        models: Where weights and lists are kept. Those that are there are not learnt again.
        methods: The methods by name; all of :func:`all_methods` by default.
    """

    def __init__(
        self,
        training: list[str],
        test: list[str],
        passes: int,
        folder: Path,
        models: Path,
        methods: Mapping[str, Method] | None = None,
    ):
        self._training = training
        self._test = test
        self._passes = passes
        self._table = folder / "zero_shot.csv"
        self._programs = folder / "zero_shot_programs.csv"
        self._models = models
        self._methods = all_methods() if methods is None else methods

    def run_seeds(self, name: str, seeds: int, progress: Console) -> None:
        """Runs a method with several seeds; with one if it draws no random numbers.

        Args:
            name: A key of the methods.
            seeds: The number of seeds.
            progress: Shows the seed.
        """
        for seed in range(seeds if self._methods[name].is_seeded else 1):
            with progress.status(f"{name}, seed {seed}"):
                self.run(name, seed)

    def run(self, name: str, seed: int) -> None:
        """Trains a method, and judges it, unless the results are there.

        Args:
            name: A key of the methods.
            seed: Seeds training and judging.
        """
        method = self._methods[name]
        results = read_results(self._table)
        done = {(each.method, each.seed) for each in results}
        if all((player, seed) in done for player in method.players):
            return
        steps, arrays = self._learnt(name, method, seed)
        sizes = read_sizes(self._programs)
        for player, make in method.players.items():
            policy, deterministic = make(arrays, seed)
            found = method.setting.judge(policy, self._test, seed, deterministic)
            results.append(Result(player, seed, steps, found.best, found.final))
            sizes["O0"] = {row.benchmark: row.unoptimised for row in found.rows}
            sizes["Oz"] = {row.benchmark: row.baseline for row in found.rows}
            sizes[f"{player}/{seed}"] = {row.benchmark: row.best for row in found.rows}
        write_sizes(sizes, self._programs)
        write_results(results, self._table)

    def _learnt(self, name: str, method: Method, seed: int) -> tuple[int, Arrays]:
        """Returns the passes run, and the arrays of a method."""
        if method.learn is None:
            return 0, []
        path = self._models / f"{name}-{seed}.npz"
        if not path.exists():
            *_, (steps, arrays) = method.learn(self._training, self._passes, seed)
            np.savez(path, np.array(steps), *arrays)
        with np.load(path) as saved:
            steps, *arrays = saved.values()
        return int(steps), arrays
