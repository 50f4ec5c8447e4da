"""Measures what it saves to remember where actions lead. See benchmarks/README.md."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.learners import LEARNERS, Learner
from benchmarks.machine import describe_machine, load_average
from benchmarks.programs import PROGRAMS, check_sizes
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.service.session.transition_cache import TransitionStats

SPACES = {"observation_space": "Autophase", "reward_space": "IrInstructionCountOz"}


def learn(
    learner: Learner, size: tuple[int, int], seed: int, **arguments: Any
) -> tuple[list[float], float, TransitionStats | None]:
    """Lets a learner learn. Returns the rewards, the seconds, and how the cache has done."""
    with LlvmEnv(**SPACES, **arguments) as env:
        env.reset()
        begin = time.perf_counter()
        rewards = list(learner(env, *size, np.random.default_rng(seed)))
        seconds = time.perf_counter() - begin
        return rewards, seconds, replace(env.transitions.stats) if env.transitions else None


def main(
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    learner: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(LEARNERS)}. May be repeated.")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Of each learner.")] = 2000,
    steps: Annotated[int, typer.Option(help="Of each episode.")] = 20,
    seed: Annotated[int, typer.Option(help="For the random choices of learners.")] = 0,
) -> None:
    """Measure steps per second with and without a cache of transitions, and compare the results."""
    check_sizes(size or ())
    if unknown := set(learner or ()) - set(LEARNERS):
        raise typer.BadParameter(f"No learner {unknown.pop()!r}: there are {', '.join(LEARNERS)}")
    console, progress = Console(), Console(stderr=True)
    console.print(describe_machine(), highlight=False)
    console.print(f"load average {load_average():.2f}")
    table = Table(
        "instructions",
        "learner",
        "analyses",
        "steps/s without",
        "with",
        "ratio",
        "known",
        "states",
        "MiB",
        "results",
    )
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        for each in size or [200, 2_000]:
            path = PROGRAMS[each].make(Path(folder))
            benchmark = Benchmark.from_file(f"benchmark://user-v0/{each}", path)
            for name in learner or LEARNERS:
                for analyses in "kept", "fresh":
                    arguments = {"benchmark": benchmark, "analyses": analyses}
                    with progress.status(f"{name} on {each:,} instructions, analyses {analyses}"):
                        plain, without, _ = learn(
                            LEARNERS[name], (episodes, steps), seed, **arguments
                        )
                        cached, seconds, stats = learn(
                            LEARNERS[name],
                            (episodes, steps),
                            seed,
                            transition_cache=True,
                            **arguments,
                        )
                    table.add_row(
                        f"{each:,}",
                        name,
                        analyses,
                        f"{len(plain) / without:,.0f}",
                        f"{len(cached) / seconds:,.0f}",
                        f"{without / seconds * len(cached) / len(plain):.2f}",
                        f"{stats.hits / (stats.hits + stats.misses):.0%}",
                        f"{stats.states:,}",
                        f"{stats.size / 2**20:.0f}",
                        "equal" if plain == cached else "DIFFERENT",
                    )
    console.print(table)
    console.print(f"load average {load_average():.2f}")


if __name__ == "__main__":
    typer.run(main)
