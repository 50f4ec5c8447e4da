"""``compiler-gym search``: searches for passes that beat ``opt -Oz``."""

import shlex
import threading
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from compiler_gym.cli.console import (
    make_table,
    messages,
    print_json,
    print_line,
    show,
)
from compiler_gym.cli.options import (
    PROGRAM_HELP,
    JsonOption,
    check_outputs,
    complete_program,
    program_file,
    program_uri,
)
from compiler_gym.cli.pool_options import RayOption
from compiler_gym.cli.search_state import (
    COSTS,
    FEWEST_TRIES,
    NO_OPT,
    Budget,
    Game,
    unoptimised_beside,
)
from compiler_gym.cli.sequence_search import bitcode_of, play, reporting, search_on_nodes
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import percent, plural

if TYPE_CHECKING:
    from compiler_gym.distributed.worker import Worker

_PROGRAMS = ("sha256", "json", "regex", "huffman", "fft", "containers")
_SECONDS = 60.0
_SECONDS_BETWEEN_LINES = 5
_HEADINGS = {"instructions": "insts", "bytes": "bytes"}
_LESS = {"instructions": "have fewer instructions", "bytes": "have fewer bytes of code"}

_COMMANDS = "commands.sh"
# The end of the command of an environment, which names no files.
_PLACES = "input.bc -o output.bc"

Goal = Enum("Goal", {name: name for name in COSTS})


def search(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{PROGRAM_HELP} By default: {' '.join(_PROGRAMS)}.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Total search time of all programs. By default 60, or no limit with --tries.",
            show_default=False,
        ),
    ] = None,
    tries: Annotated[
        int | None,
        typer.Option(
            min=FEWEST_TRIES,
            help="Number of sequences to try for each program. The result then follows from the "
            "seed, unless --seconds ends the search before.",
            show_default=False,
        ),
    ] = None,
    llvm_only: Annotated[
        bool,
        typer.Option(
            "--llvm-only",
            help="Use only the passes of LLVM, and marks of functions. No pass of this project.",
        ),
    ] = False,
    goal: Annotated[
        Goal, typer.Option(help="The size to reduce: IR instructions, or bytes of machine code.")
    ] = Goal.instructions,
    output_folder: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the results.")
    ] = Path("optimised"),
    seed: Annotated[
        int, typer.Option(help="The seed. A search with the same seed repeats the same steps.")
    ] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel searches.")] = 2,
    ray: RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for passes that beat opt -Oz.

    opt -Oz runs the passes of that level on unoptimised bitcode. clang -Oz makes smaller code,
    since it also marks functions for size. One column of the
    table is against opt -Oz with these marks. The command optimize compares with clang.

    The levels -Oz and -Os, with and without marks, are tried first. The result is never larger.

    opt repeats each result, byte for byte. The output folder has NAME.input.bc and NAME.bc for each
    program, before and after the passes, and commands.sh with the commands of opt. Ctrl-C ends the
    search and prints the best results so far; with --ray, those of finished programs.

    \b
    Examples:
      compiler-gym search
      compiler-gym search program.c --seconds 20
      compiler-gym search program.c --tries 1000 --llvm-only
      compiler-gym search sha256 json --goal bytes --json
    """  # noqa: D301, the mark of a paragraph that is not filled.
    games = [Game(program_uri(name), goal.value) for name in programs or _PROGRAMS]
    if seconds is None and tries is None:
        seconds = _SECONDS
    budget = Budget(seconds, tries, llvm_only)
    names = [game.name for game in games]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise typer.BadParameter(f"There are several programs called {', '.join(twice)}.")
    results = [bitcode_of(game, output_folder) for game in games]
    outputs = [*results, *map(unoptimised_beside, results), output_folder / _COMMANDS]
    check_outputs(map(program_file, programs or ()), outputs)
    if ray is not None:
        finished = _run_on_nodes(games, ray, budget, seed, output_folder)
    else:
        if seconds is not None:
            seconds *= min(jobs, len(games)) / len(games)
        each = replace(budget, seconds=seconds)

        def start(game: Game, worker: "Worker") -> None:
            with reporting(game) if len(games) > 1 else nullcontext():
                play(game, worker.stop, each, seed, output_folder)

        finished = _run(games, start, jobs, show=not as_json)
    if len(games) == 1 and games[0].error:
        raise RuntimeError(games[0].error)
    if as_json:
        print_json([_as_json(game) for game in games])
    else:
        show(_table(games))
        _print_report(games, finished, output_folder)
    if not finished:
        raise typer.Exit(INTERRUPTED)
    failed = [game for game in games if game.error]
    for game in failed:
        messages().print(f"{game.name} failed: {game.error}", soft_wrap=True)
    if failed or any(game.proof not in ("identical", NO_OPT) for game in games):
        raise typer.Exit(1)


def _run(games: list[Game], start: "Callable[[Game, Worker], None]", jobs: int, show: bool) -> bool:
    """Runs all searches in parallel, and shows the progress. Returns False after Ctrl-C."""
    from compiler_gym.distributed.task import Job
    from compiler_gym.distributed.threads import Call, thread_pool

    finished = threading.Event()
    watcher = threading.Thread(target=_watch, args=(games, finished, show))
    watcher.start()
    try:
        calls = (Job(Call(game.name, partial(start, game))) for game in games)
        with thread_pool(jobs) as pool, closing(pool.run(calls)) as outcomes:
            for outcome in outcomes:
                outcome.result()
    except KeyboardInterrupt:
        return False
    finally:
        finished.set()
        watcher.join()
    return True


def _run_on_nodes(
    games: list[Game], ray: str, budget: Budget, seed: int, output_folder: Path
) -> bool:
    """Searches for all programs on the nodes of a cluster. Returns False after Ctrl-C."""
    from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets

    places = {game.uri: place for place, game in enumerate(games)}
    datasets = LlvmDatasets(get_llvm_datasets())
    found = search_on_nodes(games, datasets, ray, budget, seed, output_folder)
    try:
        with closing(found):
            for game in found:
                games[places[game.uri]] = game
    except KeyboardInterrupt:
        return False
    return True


def _watch(games: list[Game], finished: threading.Event, show: bool) -> None:
    """Shows the table until the search ends: live on terminals, else as lines."""
    screen = messages()
    if screen.is_terminal:
        with Live(console=screen, refresh_per_second=4, transient=True) as live:
            while not finished.wait(0.25):
                live.update(Group(_table(games), Text("Ctrl-C ends the search.", style="dim")))
        return
    while show and not finished.wait(_SECONDS_BETWEEN_LINES):
        for game in games:
            costs = game.costs[game.goal]
            if game.state == "searching" and "best" in costs:
                screen.print(
                    f"{game.name}: {costs['best']} {game.goal}, opt -Oz {costs['Oz']}, "
                    f"{game.tries} tries"
                )


def _table(games: list[Game]) -> Any:
    rows = []
    for game in games:
        row: dict[str, Any] = {"program": game.name, "tries": game.tries}
        for name, costs in game.costs.items():
            for level, heading in (("O0", "-O0"), ("Oz", "-Oz"), ("best", "best")):
                row[f"{_HEADINGS[name]}\n{heading}"] = costs.get(level)
        row["best\n/-Oz"] = percent(game.ratio, 1)
        row["/marked\n-Oz"] = percent(game.marked_ratio, 1)
        row["opt\nsays"] = game.proof or game.state
        rows.append(row)
    return make_table(rows, "LLVM passes chosen by search, against opt -Oz")


def _write_commands(games: list[Game], path: Path) -> None:
    """Writes a script with the commands of opt that make the results. They can be long."""
    lines = ["# Makes the results of compiler-gym search again, with opt."]
    try:
        opt = shlex.quote(str(llvm_tools.opt_path()))
    except EnvironmentNotSupported as error:
        opt, lines = "opt", [*lines, f"# {error}"]
    for game in games:
        if game.bitcode is not None and game.commandline:
            files = shlex.join([str(game.unoptimised), "-o", str(game.bitcode)])
            command = game.commandline.replace("opt", opt, 1).replace(_PLACES, files)
            lines += ["", f"# {game.name}", command]
    with atomic_file_write(path, fileobj=True, mode="w") as file:
        file.write("\n".join(lines) + "\n")


def _print_report(games: list[Game], finished: bool, folder: Path) -> None:
    """Prints where the commands are that repeat the results."""
    if any(game.bitcode is not None for game in games):
        path = folder / _COMMANDS
        _write_commands(games, path)
        print_line(
            f"\nThe programs are in {folder}, and the opt commands that make them in {path}."
        )
    for game in games:
        if game.bitcode is None and game.commandline:
            print_line(f"\n{game.name}, as far as the search came:")
            print_line(f"  {game.commandline}")
    if not finished:
        return
    smaller = sum(game.ratio is not None and game.ratio < 1 for game in games)
    proven = sum(game.proof == "identical" for game in games)
    less = _LESS[games[0].goal]
    if len(games) == 1:
        less = less.replace("have", "has")
    proof = f"opt made the same bytes for {proven} of {len(games)}."
    if any(game.proof == NO_OPT for game in games):
        proof = "opt is not installed to prove it. Try: pip install 'compiler_gym[clang]'"
    print_line(f"\n{smaller} of {plural(len(games), 'program')} {less} than with opt -Oz; {proof}")


def _as_json(game: Game) -> dict[str, Any]:
    return {
        "benchmark": game.uri,
        "goal": game.goal,
        "state": game.state,
        "tries": game.tries,
        "costs": game.costs,
        "ratio": game.ratio,
        "marked_ratio": game.marked_ratio,
        "curve": [{"tries": tries, "seconds": at, "cost": cost} for tries, at, cost in game.curve],
        "commandline": game.commandline,
        "input": game.unoptimised and str(game.unoptimised),
        "output": game.bitcode and str(game.bitcode),
        "opt": game.proof,
        "error": game.error or None,
    }
