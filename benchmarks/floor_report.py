"""Compares steps with the least that they can cost in processes of their own. See README.md."""

import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.arena import Arena
from benchmarks.env_benchmark import EPISODE_STEPS
from benchmarks.env_player import EnvPlayer
from benchmarks.floor import Floor
from benchmarks.machine import describe_machine, load_average
from benchmarks.measurements import Measurements
from benchmarks.player import Player
from benchmarks.programs import PROGRAMS, check_sizes
from benchmarks.replay_player import ReplayPlayer
from compiler_gym.util.runfiles_path import find_service_binary

BARE = "bare pass"
DETECTION = "with change detection"
FORKED = "in a forked process"
FLOOR = "floor"
ENVIRONMENT = "environment"
COLUMNS = (DETECTION, FORKED, FLOOR, ENVIRONMENT)


def measure(program: Path, episodes: int) -> dict[str, float]:
    """Makes random walks, each step in all ways, in turns.

    Args:
        program: A bitcode file.
        episodes: Walks of 40 steps.

    Returns:
        The mean time of a step in microseconds, for the bare pass and each of :data:`COLUMNS`.
    """
    service = find_service_binary("compiler_gym-llvm-service")
    replay = find_service_binary("Replay", package="benchmarks/llvm_service")
    binary = find_service_binary("Floor", package="benchmarks/llvm_service")
    with (
        closing(Arena(program, service, replay)) as arena,
        closing(EnvPlayer(arena.connection)) as environment,
        closing(Floor(binary, program, arena.pipelines)) as floor,
        closing(ReplayPlayer(replay, program, arena.pipelines, None)) as bare,
        closing(ReplayPlayer(replay, program, arena.pipelines, ())) as detection,
    ):
        environment.reset_to(arena.fresh_benchmark())
        players = {BARE: bare, DETECTION: detection, ENVIRONMENT: environment}
        return _walk(players, floor, len(arena.pipelines), episodes)


def _walk(
    players: dict[str, Player], floor: Floor, actions: int, episodes: int
) -> dict[str, float]:
    row = "step of a random walk"
    measurements = Measurements()
    forked: list[float] = []
    rng = random.Random(0)

    def step_at_floor(action: int) -> float:
        step = floor.step(action)
        forked.append(step.pass_us)
        return step.total_us

    for _ in range(episodes):
        floor.reset()
        for player in players.values():
            player.reset()
        for action in rng.choices(range(actions), k=EPISODE_STEPS):
            jobs = {(row, name): partial(player.play, [action]) for name, player in players.items()}
            # All in one call: each begins with another player.
            measurements.take_turns({**jobs, (row, FLOOR): partial(step_at_floor, action)})
    means = {name: summary.mean for name, summary in measurements.summaries()[row].items()}
    return {**means, FORKED: fmean(forked)}


def tabulate(results: Sequence[tuple[int, dict[str, float]]]) -> Table:
    """A table of means over that of the bare pass.

    Args:
        results: Numbers of instructions, each with what :func:`measure` returns.
    """
    table = Table(
        "instructions", f"{BARE}, mean", *COLUMNS, title="Means over that of the bare pass"
    )
    for size, means in results:
        ratios = (f"{means[column] / means[BARE]:.2f}" for column in COLUMNS)
        table.add_row(f"{size:,}", f"{means[BARE]:,.0f} µs", *ratios)
    return table


def main(
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Of 40 steps each.", min=1)] = 20,
) -> None:
    """Compare steps with the least that they can cost if each session is a process."""
    check_sizes(size or ())
    console, progress = Console(), Console(stderr=True)
    console.print(describe_machine(), highlight=False)
    console.print(f"load average {load_average():.2f}")
    results = []
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        for each in size or list(PROGRAMS):
            with progress.status(f"Measuring on {each:,} instructions"):
                path = PROGRAMS[each].make(Path(folder))
                results.append((each, measure(path, episodes)))
    console.print(tabulate(results))
    console.print(f"load average {load_average():.2f}")


if __name__ == "__main__":
    typer.run(main)
