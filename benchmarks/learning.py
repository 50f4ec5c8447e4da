"""Learning curves on programs that nothing was learnt from, their table and their picture."""

import csv
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import compiler_gym
from compiler_gym.util.runfiles_path import runfiles_path

EXAMPLES = runfiles_path("examples")
sys.path.insert(0, str(EXAMPLES))

import held_back  # noqa: E402
import judging  # noqa: E402

_SHOWN = re.compile(r"(\d+) steps: ([\d.]+)% of what -Oz saves, ([\d.]+)% in the best of (\d+)")

RANDOM = "random"
SEARCH = "random search"


class Point(NamedTuple):
    """A point of a curve.

    Attributes:
        method: What has learnt or searched, and how often it then plays each program.
        seed: Of all that is random.
        steps: How many steps were made before: to learn from other programs, or in a search on all
            the programs held back together.
        share: What is saved, as a share of what -Oz saves: mean over the programs held back.
    """

    method: str
    seed: int
    steps: int
    share: float


def points_of(trainer: str, seed: int, output: Iterable[str]) -> Iterator[Point]:
    """Reads the lines that ``judging.show()`` has printed."""
    for line in output:
        if shown := _SHOWN.fullmatch(line.strip()):
            steps, once, best, tries = shown.groups()
            yield Point(f"{trainer}, one episode", seed, int(steps), float(once) / 100)
            yield Point(f"{trainer}, best of {tries}", seed, int(steps), float(best) / 100)


def learn(trainer: str, steps: int, seed: int) -> Iterator[Point]:
    """Runs one of the trainers among the examples.

    Raises:
        subprocess.CalledProcessError: If it fails. The error stream is that of this process.
    """
    program = EXAMPLES / f"{trainer}.py"
    command = [sys.executable, "-u", program, "--steps", str(steps), "--seed", str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        yield from points_of(trainer, seed, process.stdout)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)


def search(steps: int, seed: int) -> Iterator[Point]:
    """Plays random episodes, and keeps the best of each program; also as trainers are judged."""
    with compiler_gym.make(held_back.ENV_ID) as env:
        count = int(env.action_space.n)
    rng = np.random.default_rng(seed)
    of_episode = held_back.EPISODE_STEPS * len(held_back.HELD_BACK)
    results = judging.judge(
        lambda observations: rng.integers(count, size=len(observations)), steps // of_episode
    )
    for number, share in enumerate(np.maximum.accumulate(results).mean(axis=1), start=1):
        yield Point(SEARCH, seed, number * of_episode, float(share))
    yield Point(f"{RANDOM}, one episode", seed, 0, float(results.mean()))
    groups = results[: len(results) // judging.TRIES * judging.TRIES]
    best = groups.reshape(-1, judging.TRIES, len(held_back.HELD_BACK)).max(axis=1)
    yield Point(f"{RANDOM}, best of {judging.TRIES}", seed, 0, float(best.mean()))


def write(points: Iterable[Point], path: Path) -> None:
    """Writes points as CSV."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Point._fields)
        rows.writerows((*point[:3], f"{point.share:.4f}") for point in points)


def read(path: Path) -> list[Point]:
    """Reads what :func:`write` has written."""
    with path.open(newline="") as file:
        return [
            Point(row["method"], int(row["seed"]), int(row["steps"]), float(row["share"]))
            for row in csv.DictReader(file)
        ]


def curves(points: Iterable[Point]) -> dict[str, dict[int, list[float]]]:
    """Returns the shares of all seeds by method and number of steps."""
    shares: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        shares[point.method][point.steps].append(point.share)
    return shares


def to_markdown(points: Iterable[Point]) -> str:
    """The end of each curve as a table: mean over seeds, and the least and the greatest."""
    lines = ["| | steps before | of what -Oz saves | seeds |", "| --- | ---: | ---: | ---: |"]
    for method, curve in curves(points).items():
        steps, shares = max(curve.items())
        ends = f"{min(shares):.1%} to {max(shares):.1%}"
        mean = statistics.mean(shares)
        lines.append(f"| {method} | {steps:,} | {mean:.1%} ({ends}) | {len(shares)} |")
    return "\n".join(lines) + "\n"


def draw(points: Iterable[Point], path: Path) -> None:
    """Draws all curves that have more than one point: the mean over seeds, and their range."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    # The same picture for the same points, with text that is text.
    rcParams.update({"svg.hashsalt": "compiler_gym", "svg.fonttype": "none"})
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for method, curve in curves(points).items():
        if len(curve) > 1:
            steps, shares = zip(*sorted(curve.items()), strict=True)
            (line,) = axes.plot(steps, [statistics.mean(each) for each in shares], label=method)
            ends = [min(each) for each in shares], [max(each) for each in shares]
            axes.fill_between(steps, *ends, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.axhline(1, color="black", linewidth=0.8, linestyle="--", label="-Oz")
    axes.set(xlabel="steps made", ylabel="instructions saved, of what -Oz saves", ylim=(0.7, None))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
