"""Trains the shipped policies: ``python -m compiler_gym.tuning.policy_training``."""

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from compiler_gym.cli.console import run_program
from compiler_gym.cli.pool_options import RayOption
from compiler_gym.cli.sequence_trials import PASS_SPACE
from compiler_gym.datasets.selection import breadth_first, programs_of
from compiler_gym.distributed.opening import open_pool
from compiler_gym.distributed.pool import Limits, Pool
from compiler_gym.distributed.programs import Program
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.tuning.policy_training.laboratory import Laboratory, Refinement
from compiler_gym.tuning.policy_training.pieces import CLEANING, Growth
from compiler_gym.tuning.policy_training.training import (
    BORDER,
    Passes,
    joined,
    pieces_of,
    select,
    train,
)
from compiler_gym.util.registration import make

# Every fourth training program of the network is used for validation.
_FOURTH = 4
_UNITS, _DECAYS = (8, 32), (1e-4, 1e-3, 1e-2)
# The search of a sequence compiles a program some hundred times.
_TASK_SECONDS = 3600
# The first piece is longer, and changed more often by this factor.
_FIRST = 2

_console = Console(stderr=True, highlight=False)

app = typer.Typer(add_completion=False, no_args_is_help=True)

_Output = Annotated[Path, typer.Option("--output", "-o", help="A folder.")]
_Seed = Annotated[int, typer.Option(help="Of all that is random.")]
_Files = Annotated[int, typer.Option(min=1, help="The most files of a package.")]
_Largest = Annotated[int, typer.Option(help="The most IR instructions of a program.")]
_Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Programs to compile at a time. One for each processor by default.",
        show_default=False,
    ),
]


@app.callback()
def main() -> None:
    """Train the shipped policies for IR instructions. Every command takes an hour or more.

    The same seed gives the same policies on this machine and on a Ray cluster.
    """


@app.command()
def pieces(
    context: typer.Context,
    output: _Output = Path("policies"),
    passes: Annotated[int, typer.Option(min=1, help="The most in all pieces.")] = 106,
    short: Annotated[int, typer.Option(min=1, help="The most in the shorter policy.")] = 45,
    first: Annotated[int, typer.Option(min=1, help="The most in the first piece.")] = 20,
    most: Annotated[int, typer.Option(min=1, help="The most in a further piece.")] = 7,
    programs: Annotated[
        int, typer.Option(min=1, help="How many to look at: kernels and files of opensource-v0.")
    ] = 200,
    files: _Files = 20,
    largest: _Largest = 4000,
    candidates: Annotated[int, typer.Option(min=1, help="First pieces to compare.")] = 48,
    rounds: Annotated[
        int, typer.Option(help="How often a new piece is changed; the first twice as often.")
    ] = 5,
    refinements: Annotated[int, typer.Option(help="Changes tried of the shorter policy.")] = 1200,
    seed: _Seed = 0,
    jobs: _Jobs = None,
    ray: RayOption = None,
) -> None:
    """Train pieces of sequences: pieces45.json and pieces.json.

    Pieces are cut from the sequences of the shipped coreset, and changed. Downloads all packages of
    the part train. Ctrl-C ends the training with the pieces so far.
    """
    output.mkdir(parents=True, exist_ok=True)
    about = _about(context)
    with open_pool(ray, Limits(jobs, task_seconds=_TASK_SECONDS)) as pool, make("llvm-v0") as env:
        assert isinstance(env, LlvmEnv)
        uris = islice(breadth_first(env.datasets, "train", files, None, seed), programs)
        with _laboratory(pool, _programs(env, uris), largest) as laboratory:
            names = env.action_space.names
            cut_from = Policy.load("coreset").sequences

            def grown(start: Iterable[Passes], limit: int) -> list[Passes]:
                growth = Growth(laboratory, names, cut_from, seed)
                for piece in start:
                    growth.append(piece)
                _grow(growth, limit, first, most, candidates, rounds)
                return growth.pieces

            few = joined(grown((), short))
            refinement = Refinement(laboratory, [*names, BORDER], few, short, seed)
            _refine(refinement, refinements)
            shorter = pieces_of(refinement.passes)
            longer = grown(shorter, passes)
    for name, chosen in (("pieces45", shorter), ("pieces", longer)):
        Policy(tuple(chosen), about, continues=True, levels=True).save(output / f"{name}.json")


@app.command()
def search_pieces(
    context: typer.Context,
    output: _Output = Path("policies"),
    passes: Annotated[int, typer.Option(help="The most in all new pieces.")] = 50,
    most: Annotated[int, typer.Option(min=1, help="The most in a piece.")] = 7,
    programs: Annotated[
        int, typer.Option(min=1, help="How many to look at: kernels and files of opensource-v1.")
    ] = 130,
    files: _Files = 3,
    largest: _Largest = 2500,
    candidates: Annotated[int, typer.Option(min=1, help="New pieces to compare.")] = 240,
    rounds: Annotated[int, typer.Option(help="How often a new piece is changed.")] = 2,
    begin: Annotated[
        Path | None,
        typer.Option(
            help="Pieces to begin with. The policy pieces by default.", show_default=False
        ),
    ] = None,
    seed: _Seed = 0,
    jobs: _Jobs = None,
    ray: RayOption = None,
) -> None:
    """Train the pieces that searches try: search_pieces.json.

    Further pieces join those that it begins with. Their passes have parameters, and all of them are
    passes of LLVM. New pieces are cut from the shipped coreset, and from each pass with others that
    clean up after it. Then all get a new order, in which each next piece is the most useful one.
    Ctrl-C ends the search for new pieces, and orders those so far.
    """
    output.mkdir(parents=True, exist_ok=True)
    with open_pool(ray, Limits(jobs, task_seconds=_TASK_SECONDS)) as pool, make("llvm-v0") as env:
        assert isinstance(env, LlvmEnv)
        uris = breadth_first(env.datasets, "train", files, None, seed, "opensource-v1")
        with _laboratory(pool, _programs(env, islice(uris, programs)), largest) as laboratory:
            space = next(each for each in env.action_spaces if each.name == PASS_SPACE)
            named = zip(space.names, space.options, strict=True)
            names = [name for name, options in named if not options]
            sources = [(name, *ending) for name in names for ending in CLEANING]
            sources += Policy.load("coreset").sequences
            growth = Growth(laboratory, names, sources, seed, PASS_SPACE)
            for piece in Policy.load(begin or "pieces").sequences:
                growth.append(piece)
            used = sum(map(len, growth.pieces))
            _grow(growth, used + passes, most, most, candidates, rounds)
            ordered = Growth(laboratory, names, (), seed, PASS_SPACE)
            ordered.append_all(growth.pieces)
            _say(f"{len(ordered.pieces)} pieces in order", ordered.row)
    found = tuple(ordered.pieces)
    Policy(found, _about(context), continues=True).save(output / "search_pieces.json")


def _grow(growth: Growth, passes: int, first: int, most: int, candidates: int, rounds: int) -> None:
    """Adds pieces until there are that many passes."""
    used = sum(map(len, growth.pieces))
    try:
        while used < passes:
            is_first = not growth.pieces
            limit = min(first if is_first else most, passes - used)
            growth.add(limit, candidates, _FIRST * rounds if is_first else rounds)
            used += len(growth.pieces[-1])
            _say(f"{used} passes, {' '.join(growth.pieces[-1])}", growth.row)
    except KeyboardInterrupt:
        _console.print("Ctrl-C: continuing with the pieces so far")


@app.command()
def sequences(
    context: typer.Context,
    output: _Output = Path("policies"),
    passes: Annotated[int, typer.Option(min=1, help="The most in a sequence.")] = 45,
    kept: Annotated[int, typer.Option(min=1, help="How many to choose from.")] = 12,
    programs: Annotated[
        int, typer.Option(min=1, help="How many of csmith, and of real software, beside kernels.")
    ] = 25,
    more: Annotated[int, typer.Option(min=1, help="The same for the network.")] = 300,
    largest: _Largest = 6000,
    tries: Annotated[int, typer.Option(help="Of sequences, for each program.")] = 300,
    refinements: Annotated[int, typer.Option(help="Changes tried of the best sequence.")] = 1200,
    seed: _Seed = 0,
    jobs: _Jobs = None,
    ray: RayOption = None,
) -> None:
    """Train whole sequences: sequence.json, coreset.json and network.json.

    Needs SciPy (pip install 'compiler_gym[statistics]'), and hours with the defaults. Ctrl-C during
    the refinement of a sequence continues with the best one so far; at other times the exit code is
    130. The sequences of single programs are kept in tuned.json of the folder, and reused.
    """
    output.mkdir(parents=True, exist_ok=True)
    about = _about(context)
    with open_pool(ray, Limits(jobs, task_seconds=_TASK_SECONDS)) as pool, make("llvm-v0") as env:
        assert isinstance(env, LlvmEnv)
        uris = programs_of(env.datasets, "train", programs, programs, seed)
        with _laboratory(pool, _programs(env, uris), largest) as laboratory:
            tuned = _tuned(laboratory, output / "tuned.json", tries, passes, seed)
            rows = np.stack([laboratory.logarithms(each) for each in tuned])
            refinement = Refinement(
                laboratory, env.action_space.names, tuned[select(rows, 1)[0]], passes, seed
            )
            _refine(refinement, refinements)
        Policy((refinement.passes,), about, levels=True).save(output / "sequence.json")
        tuned.append(refinement.passes)
        rows = np.concatenate([rows, [refinement.row]])
        chosen = select(rows, kept)
        coreset = tuple(tuned[number] for number in chosen)
        _say("coreset", rows[chosen].min(axis=0))
        Policy(coreset, about, levels=True).save(output / "coreset.json")
        uris = programs_of(env.datasets, "train", more, more, seed)
        with _laboratory(pool, _programs(env, uris), largest) as laboratory:
            network = _network(laboratory, coreset, seed)
        Policy(coreset, about, network, levels=True).save(output / "network.json")


def _about(context: typer.Context) -> dict[str, Any]:
    """Returns the command with all numbers on which its result depends."""
    numbers = {key: value for key, value in context.params.items() if isinstance(value, int)}
    numbers.pop("jobs", None)
    options = " ".join(f"--{key} {value}" for key, value in sorted(numbers.items()))
    return {"command": f"{context.info_name} {options}"}


def _programs(env: LlvmEnv, uris: Iterable[str]) -> Iterator[Program]:
    for uri in uris:
        try:
            yield Program.of(env.datasets.benchmark(uri))
        except BenchmarkInitError as error:
            _console.print(f"{uri} is left out: {error}", soft_wrap=True)


@contextmanager
def _laboratory(pool: Pool, programs: Iterable[Program], largest: int) -> Iterator[Laboratory]:
    """Makes a laboratory. Shows the counts of the pool while it is used."""
    with _console.status("Looking for programs") as status:

        def watch() -> None:
            stats = pool.stats
            status.update(f"{stats.done} tasks, {stats.repeated} repeated, {stats.workers} workers")

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
    sys.exit(run_program("policies", app))
