"""Measures the run time of decisions about registers, on the programs that are held back.

Each program of the part ``test`` of ``kernels-v0`` is searched with ``llvm-regalloc-v0``: for
bytes, and for the estimated cost of spills. With --learn, answers are also tried in the order that
``regalloc_learner.py`` learns from other programs. Then the programs run in turns with those of
``clang -Oz`` and ``clang -O3``. The outputs of all are checked. Prints for each program the change
of bytes and the speedup, with 95 % intervals. The machine should be idle::

    bazel run //benchmarks:regalloc_runtime
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import compiler_gym
from benchmarks.regalloc_learner import Rank, kernels, learn_from, questions, try_best
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
from compiler_gym.tuning.size.inputs import known_program
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.speed.workload import ProgramWorkload, Stopwatch
from compiler_gym.util import llvm_tools
from compiler_gym.util.statistics import compare_paired_runtimes, geometric_mean
from examples.regalloc_search import search

# The kinds of search: action space and reward.
SEARCHES = {
    "evictions for bytes": ("Evictions", "ObjectTextSizeNorm"),
    "evictions for spill cost": ("Evictions", "SpillCostNorm"),
    "priorities for spill cost": ("Priorities", "SpillCostNorm"),
}
LEARNT, LEARNT_REWARD = "learnt evictions for spill cost", "SpillCostNorm"
LEVELS = ("-Oz", "-O3")
# Shorter runs are repeated for one measurement.
SAMPLE_SECONDS = 0.05


def variants(
    uri: str, tries: int, folder: Path, rank: Rank | None = None
) -> Iterator[tuple[str, Path]]:
    """Yields object files of a program by their names, that of ``clang -Oz`` first."""
    datasets = LlvmDatasets(get_llvm_datasets())
    for level in LEVELS:
        program = known_program(datasets, uri, folder, for_size=level == "-Oz").path
        output = folder / f"clang{level}.o"
        command = [llvm_tools.clang_path(), level, "-c", "-w", program, "-o", output]
        subprocess.run(command, check=True, capture_output=True)
        yield f"clang {level}", output
    for name, (action_space, reward) in SEARCHES.items():
        spaces = {"action_space": action_space, "reward_space": reward}
        with compiler_gym.make("llvm-regalloc-v0", benchmark=uri, **spaces) as env:
            for _ in search(env, tries):
                pass
            yield name, env.write_object(folder / f"{name}.o")
    if rank is not None:
        with compiler_gym.make("llvm-regalloc-v0", reward_space=LEARNT_REWARD) as env:
            try_best(env, uri, questions(env, uri), rank, tries)
            yield LEARNT, env.write_object(folder / f"{LEARNT}.o")


def workload_of(uri: str, folder: Path) -> ProgramWorkload:
    """Returns the runs that a program is measured by."""
    validator = known_program(LlvmDatasets(get_llvm_datasets()), uri, folder).validator
    assert validator is not None  # Programs of kernels-v0 have inputs.
    return ProgramWorkload(validator)


def measure(
    uri: str, tries: int, pairs: int, rank: Rank | None = None
) -> dict[str, tuple[float, Any]]:
    """Searches a program and measures what came out.

    Returns:
        For each variant besides ``clang -Oz``, the share of the bytes of code and the comparison of
        run times with it.

    Raises:
        ValueError: If a program prints something else.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workload = workload_of(uri, folder)
        objects = dict(variants(uri, tries, folder, rank))
        programs = {each: path.with_suffix(".program") for each, path in objects.items()}
        for each, path in objects.items():
            workload.link(path, programs[each])
            if error := workload.check(programs[each]):
                raise ValueError(f"{uri}, {each}: {error}")
        first, *others = objects
        repeats = int(SAMPLE_SECONDS / workload.seconds(programs[first])) + 1

        def seconds(program: Path) -> float:
            return sum(workload.seconds(program) for _ in range(repeats))

        watch = Stopwatch(seconds, np.random.default_rng(0))
        times = [watch.round([*programs.values()]) for _ in range(pairs)]
        columns = dict(zip(programs, zip(*times, strict=True), strict=True))
        bytes_of = {each: read_object(path).text for each, path in objects.items()}
        return {
            each: (
                bytes_of[each] / bytes_of[first],
                compare_paired_runtimes(columns[first], columns[each]),
            )
            for each in others
        }


def main(
    tries: Annotated[int, typer.Option(help="Answers that each search may try.", min=1)] = 40,
    pairs: Annotated[int, typer.Option(help="Runs of each program.", min=6)] = 40,
    programs: Annotated[int, typer.Option(help="How many programs.", min=1, max=7)] = 7,
    learn: Annotated[int, typer.Option(help="How many to learn from.", min=0, max=21)] = 0,
) -> None:
    """Show what decisions about registers do to the run time of programs."""
    found: dict[str, list[tuple[float, Any]]] = {}
    rank = None
    with compiler_gym.make("llvm-regalloc-v0", reward_space=LEARNT_REWARD) as env:
        uris = kernels(env, "test")[:programs]
        if learn:
            teachers = kernels(env, "train", "validation")[:learn]
            rank = learn_from(env, teachers, np.random.default_rng(0))
    for uri in uris:
        print(uri.rpartition("/")[2])
        for name, (share, times) in measure(uri, tries, pairs, rank).items():
            found.setdefault(name, []).append((share, times))
            print(
                f"  {name}: code {share - 1:+.2%}, speedup over -Oz {times.speedup:.3f} "
                f"({times.low:.3f} to {times.high:.3f}, p = {times.p_value:.1g})",
                flush=True,
            )
    print("all, geometric mean")
    for name, results in found.items():
        share = geometric_mean(share for share, _ in results)
        speedup = geometric_mean(times.speedup for _, times in results)
        print(f"  {name}: code {share - 1:+.2%}, speedup over -Oz {speedup:.3f}")


if __name__ == "__main__":
    typer.run(main)
