"""Measures what services in Python and in C++ cost. See benchmarks/README.md."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import compiler_gym
from benchmarks.machine import describe_machine, load_average
from benchmarks.measurements import Measurements, Summary
from benchmarks.player import timed
from examples.example_compiler_gym_service import ExampleEnv, make_example_cc_env

# Who is measured, and by which action and observation.
SERVICES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "example in Python": (ExampleEnv, "a", "features"),
    "example in C++": (make_example_cc_env, "a", "features"),
    "LLVM": (
        partial(compiler_gym.make, "llvm-v0", benchmark="benchmark://kernels-v0/sha256"),
        "dce",
        "Autophase",
    ),
}
STEPS_AT_ONCE = 10


def start(make: Callable[[], Any]) -> float:
    """The duration of starting a service and its first session, in microseconds."""

    def play() -> Any:
        env = make()
        env.reset()
        return env

    duration, env = timed(play)
    env.close()
    return duration


class ServicePlayer:
    """Plays on a service; methods return durations in microseconds.

    Args:
        make: Makes the environment.
        action: The name of an action that changes nothing the second time.
        observation: What is observed.
    """

    def __init__(self, make: Callable[[], Any], action: str, observation: str):
        self.env = make()
        self.env.reset()
        self.action = self.env.action_space[action]
        self.observation = observation

    def step(self) -> float:
        return timed(lambda: self.env.step(self.action))[0]

    def observed_step(self) -> float:
        spaces = [self.observation]
        return timed(lambda: self.env.step(self.action, observation_spaces=spaces))[0]

    def steps_at_once(self) -> float:
        return timed(lambda: self.env.multistep([self.action] * STEPS_AT_ONCE))[0]

    def reset(self) -> float:
        return timed(self.env.reset)[0]

    def fork_and_step(self) -> float:
        def fork() -> Any:
            copy = self.env.fork()
            copy.step(self.action)
            return copy

        duration, copy = timed(fork)
        copy.close()
        return duration


def measure(samples: int) -> dict[str, dict[str, Summary]]:
    """Durations by what was done and by the service."""
    measurements = Measurements()
    players = {name: ServicePlayer(*service) for name, service in SERVICES.items()}
    rows: dict[str, tuple[Callable[[ServicePlayer], float], int]] = {
        "step": (ServicePlayer.step, 50),
        "step, observed": (ServicePlayer.observed_step, 50),
        f"{STEPS_AT_ONCE} steps at once": (ServicePlayer.steps_at_once, 20),
        "reset, program known": (ServicePlayer.reset, 1),
        "fork and its first step": (ServicePlayer.fork_and_step, 1),
    }
    for row, (play, times) in rows.items():
        jobs = {(row, name): partial(play, player) for name, player in players.items()}
        for _ in range(max(samples // times, 3)):
            measurements.take_turns(jobs, times)
    for player in players.values():
        player.env.close()
    starts = {
        ("start of the service, first reset", name): partial(start, make)
        for name, (make, _, _) in SERVICES.items()
    }
    for _ in range(max(samples // 50, 3)):
        measurements.take_turns(starts)
    return measurements.summaries()


def main(
    samples: Annotated[int, typer.Option(help="Of each duration, but fewer of slow things.")] = 500,
) -> None:
    """Measure the example compiler in Python and in C++, beside the service of LLVM."""
    console = Console()
    console.print(f"{describe_machine()}; load average {load_average():.2f}", highlight=False)
    table = Table("p50 / p90 in µs", *SERVICES)
    for row, columns in measure(samples).items():
        cells = [f"{columns[name].p50:,.0f} / {columns[name].p90:,.0f}" for name in SERVICES]
        table.add_row(row, *cells)
    console.print(table)
    console.print(f"load average {load_average():.2f}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
