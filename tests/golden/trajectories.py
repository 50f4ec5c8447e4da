"""Recorded episodes as text: what passes do to the built-in programs, action by action.

    python -m tests.golden.trajectories

records them again, for the LLVM that the service is built with. See the difference with
``git diff tests/golden``.

A file has the episodes of a program. Each begins with its seed and the features at the start. A
line for each action follows: the action, the number of IR instructions, the hash of the module, the
reward, and the Autophase features that the action changed, by their indices. The hash leaves out
the name of the clang, which differs among systems.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import compiler_gym
from compiler_gym.distributed.episode import Episode
from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.rows import Trajectory, decode, schema_of, trajectory_of
from compiler_gym.distributed.threads import thread_pool

FOLDER = Path(__file__).parent
SEEDS = range(8)
_STEPS = 8
_OBSERVATIONS = ("Autophase", "IrSha1")
_SHOWN_DIGITS = 12


def folder_of(compiler_version: str) -> Path:
    """Returns the folder of the LLVM of a version such as "22.1.8 x86_64-pc-linux-gnu"."""
    return FOLDER / f"llvm-{compiler_version.partition('.')[0]}"


def record(program: Program, pool: Pool, schema: Any) -> str:
    """Plays the episodes of a program; returns the text of its file."""
    jobs = [
        Episode.job(
            program,
            seed=seed,
            steps=_STEPS,
            observations=_OBSERVATIONS,
            reward="IrInstructionCount",
        )
        for seed in SEEDS
    ]
    rows = [decode(each.result(), schema).to_pylist() for each in pool.run(jobs)]
    episodes = [as_text(trajectory_of(row)) for (row,) in rows]
    return "\n".join([f"program {program.uri}\n", *episodes])


def as_text(trajectory: Trajectory) -> str:
    """Returns the lines of an episode."""
    observed = trajectory.observations
    lines = [f"seed {trajectory.seed}"]
    before: Sequence[int] = [0] * len(observed["Autophase"][0])
    for step, (features, digest) in enumerate(
        zip(observed["Autophase"], observed["IrSha1"], strict=True)
    ):
        words = [trajectory.actions[step - 1] if step else "start"]
        words += [str(trajectory.sizes[step]), digest[:_SHOWN_DIGITS]]
        words += [f"{trajectory.rewards[step - 1]:.10g}"] if step else []
        words += [
            f"{index}:{new}"
            for index, (old, new) in enumerate(zip(before, features, strict=True))
            if old != new
        ]
        lines.append(" ".join(words))
        before = features
    if trajectory.end:
        lines.append(f"end {trajectory.end} {trajectory.failed_action or ''}".strip())
    return "\n".join(lines) + "\n"


def recorded(pool: Pool) -> Iterator[tuple[Path, str]]:
    """Yields the file of each program and its text."""
    with compiler_gym.make("llvm-v0") as env:
        folder = folder_of(env.compiler_version)
        schema = schema_of({name: env.observation.spaces[name].space for name in _OBSERVATIONS})
        for uri in env.datasets.dataset("benchmark://kernels-v0").benchmark_uris():
            program = Program.of(env.datasets.benchmark(uri))
            yield folder / f"{uri.rpartition('/')[2]}.txt", record(program, pool, schema)


def main() -> None:
    with thread_pool(1) as pool:
        for path, text in recorded(pool):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
