"""Measures the cost of each observation, for docs/environments/observations.md."""

import json
import math
import os
import random
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from gymnasium import spaces as gym_spaces
from rich.console import Console

from benchmarks.machine import describe_machine, describe_service, load_average
from benchmarks.player import timed
from benchmarks.programs import PROGRAMS, check_sizes
from compiler_gym import spaces
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.util.runfiles_path import find_service_binary

# What is known of CompilerGym 0.2.5, by the size of our program that is most like the one that was
# measured then: how many instructions that had, and the median milliseconds of a step with the
# observation. On a machine of the same class; which steps were counted is not known.
ORIGINAL_INSTRUCTIONS = {200: 226, 2_000: 2_852, 20_000: 22_393}
ORIGINAL = {
    name: dict(zip(ORIGINAL_INSTRUCTIONS, medians, strict=True))
    for name, medians in {
        "Programl": (9.4, 248, 8122),
        "Inst2vec": (7.3, 118, 1281),
        "ObjectTextSizeBytes": (39, 62, 220),
        "Ir": (0.34, 1.7, 13.7),
        "Autophase + reward": (0.36, 0.81, 5.6),
    }.items()
}

WITH_REWARD = ("Autophase + reward", "Autophase", "IrInstructionCountOz")

# IR2Vec's vectors are as long as those that LLVM's developers trained; the numbers in them do not
# matter, and what a vocabulary does not name is zeros.
VOCABULARY = {
    kind: {name: [1.0] * 75}
    for kind, name in {"Opcodes": "Add", "Types": "VoidTy", "Arguments": "Variable"}.items()
}

EPISODE_STEPS = 40
MIN_CHANGES = 5


@dataclass(frozen=True, slots=True)
class StepCost:
    """Median milliseconds of steps with an observation; NaN if the program does not have it.

    Attributes:
        changed: Of the steps that changed the program.
        any: Of all steps.
    """

    changed: float
    any: float


def describe_space(space: gym_spaces.Space) -> str:
    """Describes the values of a space in a few words."""
    match space:
        case spaces.Box():
            return f"{space.dtype} {list(space.shape)}, {_bounds(space.low, space.high)}"
        case spaces.Scalar():
            if space.dtype.kind == "b":
                return "bool"
            return f"{space.dtype}, {_bounds(space.min, space.max)}"
        case spaces.Dict():
            kinds = sorted({describe_space(each) for each in space.spaces.values()})
            return f"dict of {len(space.spaces)}: {'; '.join(kinds)}"
        case spaces.SpaceSequence():
            return f"list of ({describe_space(space.space)})"
        case spaces.Sequence(opaque_data_format="json://networkx/MultiDiGraph"):
            return "networkx.MultiDiGraph"
        case spaces.Sequence(opaque_data_format="json://"):
            return "dict"
        case spaces.Sequence():
            return _describe_sequence(space)
    raise TypeError(f"There are no words for {space}")


def _describe_sequence(space: spaces.Sequence) -> str:
    least, greatest = space.size_range
    if space.dtype is str:
        if greatest is None:
            return "str"
        return f"str of length {greatest if least == greatest else f'at most {greatest}'}"
    if isinstance(space.dtype, gym_spaces.Space):
        return f"sequence of ({describe_space(space.dtype)})"
    if isinstance(space.dtype, np.dtype):
        bounds = space.scalar_range
        return f"{space.dtype} [n]" + (f", {_bounds(bounds.min, bounds.max)}" if bounds else "")
    return f"list of {space.dtype.__name__}"


def _bounds(low: object, high: object) -> str:
    """An interval; what is beyond all use counts as infinite."""
    least, greatest = np.min(low), np.max(high)
    is_open = np.isinf(greatest) or greatest >= np.iinfo(np.int32).max
    left = "(-∞" if np.isinf(least) else f"[{least:g}"
    return f"{left}, ∞)" if is_open else f"{left}, {greatest:g}]"


class ObservationBenchmark:
    """Measures steps with observations on one program.

    Args:
        program: A bitcode file. The vocabulary of IR2Vec is written beside it, and used if the
            service's LLVM has IR2Vec.
        service: The service's executable.
        seconds: How long to measure each observation, about.
        steps: How many steps to measure of each observation at least, and ten times as many at
            most. If fewer than five of them change the program, more are measured.

    Attributes:
        instructions: The number of IR instructions of the program.
    """

    def __init__(self, program: Path, service: Path, seconds: float, steps: int):
        benchmark = Benchmark.from_file("benchmark://observations-v0/program", program)
        vocabulary = program.with_name("vocabulary.json")
        vocabulary.write_text(json.dumps(VOCABULARY))
        self._env = LlvmEnv(service=service, benchmark=benchmark, ir2vec_vocabulary=vocabulary)
        self._seconds = seconds
        self._steps = steps
        try:
            self._env.reset()
        except NotImplementedError:
            self._env.close()
            self._env = LlvmEnv(service=service, benchmark=benchmark)
            self._env.reset()
        self.instructions = self._env.observation["IrInstructionCount"]

    def spaces(self) -> dict[str, str]:
        """A description of each observation."""
        return {
            name: describe_space(spec.space) for name, spec in self._env.observation.spaces.items()
        }

    def run(self, names: Collection[str] = ()) -> Iterator[tuple[str, StepCost]]:
        """Returns what steps with each observation cost.

        Numbers are missing for observations that the program does not have, as it cannot be built,
        and for those that the service's LLVM cannot compute.

        Args:
            names: The observations to measure; all if empty.
        """
        candidates = {name: (name, None) for name in self._env.observation.spaces}
        candidates[WITH_REWARD[0]] = WITH_REWARD[1:]
        for name in [name for name in candidates if not names or name in names]:
            try:
                yield name, self._measure(*candidates[name])
            except (ValueError, NotImplementedError):
                yield name, StepCost(math.nan, math.nan)

    def close(self) -> None:
        """Ends the service."""
        self._env.close()

    def _measure(self, observation: str, reward: str | None) -> StepCost:
        durations: list[float] = []
        changed: list[float] = []
        walk = self._walk(observation, reward)
        next(walk)  # Pays for what is made only once.
        begin = time.monotonic()
        for duration, has_changed in walk:
            durations.append(duration)
            if has_changed:
                changed.append(duration)
            is_enough = len(durations) >= self._steps and len(changed) >= MIN_CHANGES
            is_late = time.monotonic() - begin > self._seconds
            if is_enough and (is_late or len(durations) >= 10 * self._steps):
                break
        return StepCost(float(np.median(changed)), float(np.median(durations)))

    def _walk(self, observation: str, reward: str | None) -> Iterator[tuple[float, bool]]:
        """Takes random steps, the same for all observations.

        Yields:
            How many milliseconds a step took, and whether it changed the program.
        """
        rng = random.Random(0)
        while True:
            self._env.reset()
            for _ in range(EPISODE_STEPS):
                yield self._step(rng, observation, reward)

    def _step(self, rng: random.Random, observation: str, reward: str | None) -> tuple[float, bool]:
        action = rng.randrange(self._env.action_space.n)
        rewards = [reward] if reward else []
        duration, (observations, _, done, info) = timed(
            lambda: self._env.step(action, observation_spaces=[observation], reward_spaces=rewards)
        )
        if done:
            raise RuntimeError(f"{info['error_type']}: {info['error_details']}")
        if observation == "BitcodeFile":
            Path(observations[0]).unlink()
        return duration / 1e3, not info["action_had_no_effect"]


def to_markdown(
    descriptions: dict[str, str], results: dict[str, list[StepCost]], instructions: Sequence[int]
) -> str:
    """The table of all observations, as Markdown."""
    rows = [["observation", "space", *(f"{size:,}" for size in instructions)]]
    rows.append(["---", "---", *["---:"] * len(instructions)])
    for name, costs in results.items():
        rows.append([name, descriptions.get(name, ""), *map(_cell, costs)])
    return _table(rows)


def comparison(
    results: dict[str, list[StepCost]], sizes: Sequence[int], instructions: Sequence[int]
) -> str:
    """The table of what is known of CompilerGym 0.2.5, as Markdown.

    Args:
        results: What was measured with each of the programs.
        sizes: Which programs these are, see :data:`benchmarks.programs.PROGRAMS`.
        instructions: How many instructions they have.
    """
    ours = ["any step", "times faster", "step with a change", "times faster"]
    rows = [["observation", "instructions", "0.2.5", *ours], ["---", *["---:"] * 6]]
    for name in filter(ORIGINAL.__contains__, results):
        for cost, size, here in zip(results[name], sizes, instructions, strict=True):
            original = ORIGINAL[name][size]
            row = [name, f"{ORIGINAL_INSTRUCTIONS[size]:,}; {here:,}", f"{original:,}"]
            for value in (cost.any, cost.changed):
                row += [_number(value), _number(original / value)]
            rows.append(row)
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(cost: StepCost) -> str:
    if math.isnan(cost.any):
        return "-"
    return f"{_number(cost.changed)} ({_number(cost.any)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def report(sizes: Sequence[int], service: Path, quick: bool, names: Collection[str] = ()) -> str:
    """Measures on programs of several sizes. Returns the circumstances and tables, as Markdown."""
    progress = Console(stderr=True)
    before = load_average()
    results: dict[str, list[StepCost]] = {}
    descriptions: dict[str, str] = {}
    instructions: list[int] = []
    effort = {"seconds": 0, "steps": 1} if quick else {"seconds": 2, "steps": EPISODE_STEPS}
    for size in sizes:
        with (
            tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder,
            closing(
                ObservationBenchmark(PROGRAMS[size].make(Path(folder)), service, **effort)
            ) as benchmark,
            progress.status(f"Measuring on {size:,} instructions") as status,
        ):
            instructions.append(benchmark.instructions)
            descriptions = benchmark.spaces()
            for name, cost in benchmark.run(names):
                results.setdefault(name, []).append(cost)
                status.update(f"{name} on {size:,} instructions: {cost.changed:.3g} ms")
    return (
        f"{describe_machine()}; {describe_service(service)}; load average {before:.2f} before, "
        f"{load_average():.2f} after the measurements\n\n"
        f"{to_markdown(descriptions, results, instructions)}\n"
        f"{comparison(results, sizes, instructions)}"
    )


def main(
    quick: Annotated[bool, typer.Option(help="Take few samples, to see whether it works.")] = False,
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    observation: Annotated[
        list[str] | None, typer.Option(help="What to measure; all by default. May be repeated.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="A file to write the table to, as Markdown.")
    ] = None,
    service: Annotated[Path | None, typer.Option(help="The service's executable.")] = None,
) -> None:
    """Measure what a step with each observation costs, in milliseconds."""
    check_sizes(size or ())
    service = service or find_service_binary("compiler_gym-llvm-service")
    text = report(size or list(PROGRAMS), service, quick, observation or ())
    if output:
        # Bazel runs programs in a folder of its own.
        folder = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
        (folder / output).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    typer.run(main)
