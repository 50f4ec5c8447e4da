"""Searches for sequences of LLVM passes that make programs smaller than ``-Oz`` does.

Each program is an episode of ``llvm-autophase-ic-v0``, played again and again: the search changes
the best sequence known a little, compiles the program with it, and keeps it if the program became
smaller. At the end the real ``opt`` proves each result.
"""

import random
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

import compiler_gym
from compiler_gym.envs.llvm.tools import opt_path

PROGRAMS = "sha256,json,regex,huffman,fft,containers"

# Where the search starts: passes that clean up after each other, in the order of most pipelines.
# Inlining is left to the search, as it makes most programs larger.
FIRST_SEQUENCE = """
sroa early-cse simplifycfg instcombine ipsccp globalopt deadargelim function-attrs argpromotion
sroa early-cse correlated-propagation simplifycfg instcombine tailcallelim reassociate
loop-simplifycfg licm indvars loop-idiom loop-deletion gvn sccp bdce instcombine dse adce
simplifycfg instcombine globaldce constmerge mergefunc
"""


@dataclass
class Progress:
    """What is known about one program. Counts are IR instructions, sizes are bytes."""

    program: str
    state: str = "waiting"
    counts: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    episodes: int = 0
    actions: list[int] = field(default_factory=list)
    commandline: str = ""
    bitcode: Path | None = None
    proof: str = ""


def mutate(actions: list[int], n_actions: int, rng: random.Random) -> list[int]:
    """Returns a copy of a sequence with one to three random edits."""
    actions = list(actions)
    for _ in range(rng.randint(1, 3)):
        position = rng.randrange(len(actions) + 1)
        edit = rng.random()
        if edit < 0.45 or not actions:
            actions.insert(position, rng.randrange(n_actions))
        elif edit < 0.65:
            actions[position % len(actions)] = rng.randrange(n_actions)
        elif edit < 0.85:
            del actions[position % len(actions)]
        else:
            actions.insert(position, actions.pop(rng.randrange(len(actions))))
    return actions


def compile_with(env, actions: list[int]) -> int | None:
    """Plays one episode; the instruction count at its end, or None if the compiler failed."""
    env.reset()
    (count,), _, done, _ = env.multistep(actions, observation_spaces=["IrInstructionCount"])
    return None if done else count


def search(env, progress: Progress, stop: threading.Event, seconds: float, seed: int) -> None:
    """Improves on the best sequence until the time is up or the search is stopped."""
    rng = random.Random(seed)
    deadline = time.monotonic() + seconds
    progress.actions = [env.action_space[name] for name in FIRST_SEQUENCE.split()]
    progress.counts["best"] = compile_with(env, progress.actions)
    while time.monotonic() < deadline and not stop.is_set():
        candidate = mutate(progress.actions, env.action_space.n, rng)
        count = compile_with(env, candidate)
        progress.episodes += 1
        if count is not None and count <= progress.counts["best"]:
            progress.counts["best"], progress.actions = count, candidate


def prove(unoptimised: Path, progress: Progress) -> str:
    """Runs the command line with the real ``opt`` and compares what it writes, byte by byte."""
    output = progress.bitcode.with_suffix(".opt.bc")
    command = progress.commandline.replace("opt ", f"{opt_path()} ", 1)
    command = command.replace("input.bc", str(unoptimised)).replace("output.bc", str(output))
    subprocess.run(command, shell=True, check=True, timeout=300)
    same = output.read_bytes() == progress.bitcode.read_bytes()
    output.unlink()
    return "identical" if same else "DIFFERENT"


def play(
    progress: Progress, stop: threading.Event, seconds: float, seed: int, folder: Path
) -> None:
    """Searches for one program and writes the result to the folder."""
    with compiler_gym.make(
        "llvm-autophase-ic-v0", benchmark=f"benchmark://kernels-v0/{progress.program}"
    ) as env:
        progress.state = "baselines"
        env.reset()
        for level in ["O0", "Oz"]:
            progress.counts[level] = env.observation[f"IrInstructionCount{level}"]
            progress.sizes[level] = env.observation[f"ObjectTextSize{level}"]
        unoptimised = env.write_bitcode(folder / f"{progress.program}.input.bc")
        progress.state = "searching"
        search(env, progress, stop, seconds, seed)
        progress.state = "proving"
        compile_with(env, progress.actions)
        progress.sizes["best"] = env.observation["ObjectTextSizeBytes"]
        progress.commandline = env.commandline()
        progress.bitcode = env.write_bitcode(folder / f"{progress.program}.bc")
        progress.proof = prove(unoptimised, progress)
        progress.state = "done"


def render(results: list[Progress]) -> Table:
    """The table of all programs."""
    table = Table(title="LLVM passes chosen by search, against -Oz")
    for name in ["program", "state", "episodes"]:
        table.add_column(name, justify="right" if name == "episodes" else "left")
    for name in ["-O0", "-Oz", "best", "best/Oz"]:
        table.add_column(f"IR insts\n{name}", justify="right")
    for name in ["-O0", "-Oz", "best"]:
        table.add_column(f"bytes\n{name}", justify="right")
    table.add_column("opt says", justify="center")
    for row in results:
        counts = [str(row.counts.get(name, "")) for name in ["O0", "Oz", "best"]]
        sizes = [str(row.sizes.get(name, "")) for name in ["O0", "Oz", "best"]]
        table.add_row(
            row.program, row.state, str(row.episodes), *counts, ratio(row), *sizes, row.proof
        )
    return table


def ratio(row: Progress) -> Text:
    """The best count relative to -Oz, green when it is smaller."""
    if "best" not in row.counts or "Oz" not in row.counts:
        return Text("")
    value = row.counts["best"] / row.counts["Oz"]
    return Text(f"{value:.1%}", style="green" if value < 1 else "yellow")


def report_lines(results: list[Progress]) -> Iterator[str]:
    """What a person needs to repeat the results."""
    for row in results:
        if row.bitcode:
            yield f"\n{row.program}: {row.bitcode} is made from {row.program}.input.bc by"
            yield f"  {row.commandline}"


def watch(console: Console, results: list[Progress], finished: threading.Event) -> None:
    """Shows the table until the search has finished: live, or as lines where that cannot be."""
    if console.is_terminal:
        with Live(render(results), console=console, refresh_per_second=4) as live:
            while not finished.wait(0.25):
                live.update(render(results))
            live.update(render(results))
        return
    while not finished.wait(5):
        for row in results:
            if row.state == "searching":
                best, goal = row.counts.get("best"), row.counts.get("Oz")
                console.print(
                    f"{row.program}: {best} instructions, -Oz {goal}, {row.episodes} tries"
                )
    console.print(render(results))


def run(programs: list[str], seconds: float, seed: int, folder: Path, jobs: int) -> list[Progress]:
    """Searches for all programs, some at a time, and shows how it goes."""
    console = Console(width=None if Console().is_terminal else 120)
    results = [Progress(program) for program in programs]
    each = seconds * jobs / len(programs)
    stop, finished = threading.Event(), threading.Event()
    watcher = threading.Thread(target=watch, args=(console, results, finished))
    watcher.start()
    try:
        with ThreadPoolExecutor(max_workers=jobs) as executor:
            games = [executor.submit(play, row, stop, each, seed, folder) for row in results]
            try:
                for game in games:
                    game.result()
            except BaseException:  # Ctrl-C too: end the running games, and begin no others.
                stop.set()
                executor.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        finished.set()
        watcher.join()
    for line in report_lines(results):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    return results


def main(
    seconds: Annotated[float, typer.Option(help="Search time of all programs together.")] = 60,
    programs: Annotated[str, typer.Option(help="Programs of kernels-v0, by commas.")] = PROGRAMS,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("optimised"),
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    jobs: Annotated[int, typer.Option(help="Programs to search for at a time.", min=1)] = 2,
) -> None:
    """Search for pass sequences that make programs smaller than -Oz does."""
    output.mkdir(parents=True, exist_ok=True)
    names = [name.strip() for name in programs.split(",")]
    try:
        results = run(names, seconds, seed, output, jobs)
    except LookupError as error:
        raise typer.BadParameter(str(error)) from error
    smaller = sum(row.counts["best"] < row.counts["Oz"] for row in results)
    proven = sum(row.proof == "identical" for row in results)
    print(
        f"\n{smaller} of {len(results)} programs are smaller than with -Oz; "
        f"opt made the same bytes for {proven} of {len(results)}."
    )
    raise typer.Exit(0 if proven == len(results) else 1)


if __name__ == "__main__":
    typer.run(main)
