"""Compares steps with the least that they can cost in processes of their own. See README.md."""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.arena import Arena
from benchmarks.env_benchmark import EPISODE_STEPS, IDLE_PIPELINE
from benchmarks.env_player import EnvPlayer
from benchmarks.floor import Floor
from benchmarks.machine import describe_machine, load_average
from benchmarks.measurements import Measurements, Summary, summarise
from benchmarks.player import Player
from benchmarks.programs import PROGRAMS, check_sizes
from benchmarks.replay_player import ReplayPlayer
from compiler_gym.util.runfiles_path import find_service_binary

WALK = "walk, mean"
IDLE = "idle, median"
BARE = "bare pass"
DETECTION = "with change detection"
FORKED = "in a forked process"
FLOOR = "floor"
ENVIRONMENT = "environment"
COLUMNS = (DETECTION, FORKED, FLOOR, ENVIRONMENT)


class _Contest:
    """Takes each step in all ways, in turns."""

    def __init__(self, players: Mapping[str, Player], floor: Floor, pipelines: Sequence[str]):
        self.pipelines = pipelines
        self._players = players
        self._floor = floor
        self._measurements = Measurements()
        self._forked: list[float] = []

    def reset(self) -> None:
        """Begins an episode."""
        self._floor.reset()
        for player in self._players.values():
            player.reset()

    def step(self, action: int) -> None:
        """Takes a step."""
        jobs = {("", name): partial(each.play, [action]) for name, each in self._players.items()}
        # All in one call: each begins with another player.
        self._measurements.take_turns({**jobs, ("", FLOOR): partial(self._step_at_floor, action)})

    def _step_at_floor(self, action: int) -> float:
        step = self._floor.step(action)
        self._forked.append(step.pass_us)
        return step.total_us

    def summaries(self) -> dict[str, Summary]:
        """Returns the summary of each way."""
        return {**self._measurements.summaries()[""], FORKED: summarise(self._forked)}


@contextmanager
def _contest(program: Path) -> Iterator[_Contest]:
    """Starts all processes. Those of another row have holes in their memory, which slow passes."""
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
        yield _Contest(players, floor, arena.pipelines)


def measure(program: Path, episodes: int) -> dict[str, dict[str, float]]:
    """Takes steps in all ways.

    Args:
        program: A bitcode file.
        episodes: Walks of 40 steps; half as many steps have nothing left to do.

    Returns:
        For :data:`WALK` and :data:`IDLE`, the time of a step in microseconds, for the bare pass and
        each of :data:`COLUMNS`.
    """
    with _contest(program) as contest:
        rng = random.Random(0)
        for _ in range(episodes):
            contest.reset()
            for action in rng.choices(range(len(contest.pipelines)), k=EPISODE_STEPS):
                contest.step(action)
        walk = {name: each.mean for name, each in contest.summaries().items()}
    with _contest(program) as contest:
        contest.reset()
        action = contest.pipelines.index(IDLE_PIPELINE)
        # The first of many steps, of which the median counts, is the one that changes the program.
        for _ in range(episodes * EPISODE_STEPS // 2):
            contest.step(action)
        idle = {name: each.p50 for name, each in contest.summaries().items()}
    return {WALK: walk, IDLE: idle}


def tabulate(results: Sequence[tuple[int, dict[str, dict[str, float]]]]) -> Table:
    """A table of times over that of the bare pass.

    Args:
        results: Numbers of instructions, each with what :func:`measure` returns.
    """
    table = Table("instructions", "step", BARE, *COLUMNS, title="Times over that of the bare pass")
    for size, rows in results:
        for row, times in rows.items():
            ratios = (f"{times[column] / times[BARE]:.2f}" for column in COLUMNS)
            table.add_row(f"{size:,}", row, f"{times[BARE]:,.0f} µs", *ratios)
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
