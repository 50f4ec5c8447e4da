"""Trains the shipped policies: ``python -m compiler_gym.tuning.policy_training``."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from compiler_gym.cli.console import run_program
from compiler_gym.cli.pool_options import RayOption
from compiler_gym.datasets.selection import programs_of
from compiler_gym.distributed.opening import open_pool
from compiler_gym.distributed.pool import Limits, Pool
from compiler_gym.distributed.programs import Program
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.tuning.policy_training.laboratory import Laboratory, Refinement
from compiler_gym.tuning.policy_training.training import Passes, select, train
from compiler_gym.util.registration import make

# Every fourth training program of the network is used for validation.
_FOURTH = 4
_UNITS, _DECAYS = (8, 32), (1e-4, 1e-3, 1e-2)
# The search of a sequence compiles a program some hundred times.
_TASK_SECONDS = 3600

_console = Console(stderr=True, highlight=False)


def main(
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder.")] = Path("policies"),
    passes: Annotated[int, typer.Option(min=1, help="The most in a sequence.")] = 45,
    sequences: Annotated[int, typer.Option(min=1, help="How many to choose from.")] = 12,
    programs: Annotated[
        int, typer.Option(min=1, help="How many of csmith, and of real software, beside kernels.")
    ] = 25,
    more: Annotated[int, typer.Option(min=1, help="The same for the network.")] = 300,
    largest: Annotated[int, typer.Option(help="The most IR instructions of a program.")] = 6000,
    tries: Annotated[int, typer.Option(help="Of sequences, for each program.")] = 300,
    refinements: Annotated[int, typer.Option(help="Changes tried of the best sequence.")] = 1200,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Programs to compile at a time. One for each processor by default.",
            show_default=False,
        ),
    ] = None,
    ray: RayOption = None,
) -> None:
    """Train policies for IR instructions: sequence.json, coreset.json and network.json.

    Needs SciPy (pip install 'compiler_gym[statistics]'), and hours with the defaults. Ctrl-C during
    the refinement of a sequence continues with the best one so far; at other times the exit code is
    130. The sequences of single programs are kept in tuned.json of the folder, and reused.

    The same seed gives the same policies on this machine and on a Ray cluster.
    """
    output.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {
        "command": f"--passes {passes} --sequences {sequences} --programs {programs} --more {more} "
        f"--largest {largest} --tries {tries} --refinements {refinements} --seed {seed}"
    }
    with open_pool(ray, Limits(jobs, task_seconds=_TASK_SECONDS)) as pool, make("llvm-v0") as env:
        assert isinstance(env, LlvmEnv)
        with _laboratory(pool, env, programs, seed, largest) as laboratory:
            tuned = _tuned(laboratory, output / "tuned.json", tries, passes, seed)
            rows = np.stack([laboratory.logarithms(each) for each in tuned])
            refinement = Refinement(
                laboratory, env.action_space.names, tuned[select(rows, 1)[0]], passes, seed
            )
            _refine(refinement, refinements)
        Policy((refinement.passes,), about).save(output / "sequence.json")
        tuned.append(refinement.passes)
        rows = np.concatenate([rows, [refinement.row]])
        chosen = select(rows, sequences)
        coreset = tuple(tuned[number] for number in chosen)
        _say("coreset", rows[chosen].min(axis=0))
        Policy(coreset, about).save(output / "coreset.json")
        with _laboratory(pool, env, more, seed, largest) as laboratory:
            network = _network(laboratory, coreset, seed)
        Policy(coreset, about, network).save(output / "network.json")


@contextmanager
def _laboratory(
    pool: Pool, env: LlvmEnv, count: int, seed: int, largest: int
) -> Iterator[Laboratory]:
    """Makes a laboratory. Shows the counts of the pool while it is used."""
    with _console.status("Looking for programs") as status:

        def watch() -> None:
            stats = pool.stats
            status.update(f"{stats.done} tasks, {stats.repeated} repeated, {stats.workers} workers")

        uris = programs_of(env.datasets, "train", count, count, seed)
        programs = (Program.of(env.datasets.benchmark(uri)) for uri in uris)
        laboratory = Laboratory(pool, programs, largest, watch)
        _console.print(f"{len(laboratory.programs)} programs")
        yield laboratory


def _tuned(laboratory: Laboratory, path: Path, tries: int, passes: int, seed: int) -> list[Passes]:
    """Returns a sequence for each program, from the file if it has them."""
    if path.exists():
        return [tuple(each.split()) for each in json.loads(path.read_text())]
    found = []
    for sequence in laboratory.tuned(tries, passes, seed):
        found.append(sequence)
        _console.print(
            f"{len(found)} of {len(laboratory.programs)}: {' '.join(sequence)}", soft_wrap=True
        )
    unique = [each for each in dict.fromkeys(found) if each]
    path.write_text(json.dumps([" ".join(each) for each in unique], indent=1))
    return unique


def _refine(refinement: Refinement, refinements: int) -> None:
    _say("best sequence", refinement.row)
    try:
        for number in range(refinements):
            if refinement.step():
                _say(f"refinement {number}, {len(refinement.passes)} passes", refinement.row)
    except KeyboardInterrupt:
        _console.print("Ctrl-C: continuing with the best sequence so far")


def _network(laboratory: Laboratory, coreset: tuple[Passes, ...], seed: int) -> Any:
    """Returns the network with the settings that are best on validation programs."""
    features = laboratory.features()
    rows = np.stack([laboratory.logarithms(each) for each in coreset]).T
    is_judge = np.arange(len(rows)) % _FOURTH == 0
    _say("best sequence for all", rows[is_judge, rows[~is_judge].mean(axis=0).argmin()])
    _say("best sequence for each", rows[is_judge].min(axis=1))
    # Removes the mean of each program, which depends on the program alone.
    differences = rows - rows.mean(axis=1, keepdims=True)
    kinds = {}
    for units in _UNITS:
        for decay in _DECAYS:
            network = train(features[~is_judge], differences[~is_judge], units, decay, seed)
            choices = network.predict(features[is_judge]).argmin(axis=1)
            chosen = rows[is_judge][np.arange(is_judge.sum()), choices]
            _say(f"{units} units, decay {decay}", chosen)
            kinds[chosen.mean()] = units, decay
    return train(features, differences, *kinds[min(kinds)], seed)


def _say(what: str, logarithms: np.ndarray) -> None:
    _console.print(f"{what}: {math.exp(logarithms.mean()):.4f} of -Oz")


if __name__ == "__main__":
    sys.exit(run_program("policies", lambda: typer.run(main)))
