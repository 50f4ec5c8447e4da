"""Records trials and learns from them: ``python -m compiler_gym.tuning.changes``."""

import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from compiler_gym.cli.pool_options import RayOption
from compiler_gym.datasets import Datasets
from compiler_gym.datasets.selection import breadth_first
from compiler_gym.distributed.opening import open_pool
from compiler_gym.distributed.pool import Limits
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, Outcome
from compiler_gym.envs.llvm.datasets.llvm_datasets import get_llvm_datasets
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.changes.training import judged, read_rows, table_of
from compiler_gym.tuning.changes.training import train as train_ranking
from compiler_gym.tuning.changes.trials import (
    Trials,
    packages_of,
    rows_of,
    trials_in,
    write_card,
)
from compiler_gym.tuning.changes.trials import record as record_trials
from compiler_gym.tuning.size.ranking import Ranking, shipped_ranking

app = typer.Typer(add_completion=False, no_args_is_help=True)
_console = Console(stderr=True, highlight=False)


@app.callback()
def main() -> None:
    """Learn which changes make the object files of clang smaller."""


@app.command()
def record(
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder of the table.")],
    most: Annotated[int, typer.Option(min=1, help="The most files of each package.")] = 20,
    packages: Annotated[
        list[str] | None,
        typer.Option(
            "--package", help="A package to use; can be given several times. All by default."
        ),
    ] = None,
    part: Annotated[str, typer.Option(help="train, validation or test.")] = "train",
    seed: Annotated[int, typer.Option(help="Chooses files and changes.")] = 0,
    toggles: Annotated[int, typer.Option(min=0, help="Variants of the first portfolio entry.")] = 6,
    alone: Annotated[int, typer.Option(min=0, help="Parts tried alone, of each file.")] = 2,
    combined: Annotated[int, typer.Option(min=0, help="Random combinations, of each file.")] = 3,
    most_text: Annotated[int, typer.Option(help="The most bytes of code of a file.")] = 20_000,
    instructions: Annotated[bool, typer.Option(help="Count machine instructions, too.")] = False,
    minutes: Annotated[float, typer.Option(help="When to begin no more files.")] = 60.0,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Files at a time. By default one, or one for each processor of the cluster.",
            show_default=False,
        ),
    ] = None,
    ray: RayOption = None,
) -> None:
    """Try changes on kernels and on files of opensource-v0, first one file of each package.

    The command can be repeated: it continues with files that are not in the table.
    """
    datasets = Datasets(get_llvm_datasets())
    uris = breadth_first(datasets, part, most, packages, seed)
    settings = {
        "seed": seed,
        "toggles": toggles,
        "alone": alone,
        "combined": combined,
        "instructions": instructions,
        "most_text": most_text,
    }
    end = time.monotonic() + 60 * minutes

    def tasks() -> Iterator[Job]:
        for uri in uris:
            if time.monotonic() > end:
                return
            try:
                yield Trials.job(Program.of(datasets.benchmark(uri)), **settings)
            except BenchmarkInitError as error:
                _console.print(f"{uri} is left out: {error}", soft_wrap=True)

    def watch(outcome: Outcome | None) -> None:
        if outcome is not None:
            task = outcome.task
            assert isinstance(task, Trials)
            _console.print(
                f"{task.program} {outcome.seconds:.1f} s {outcome.error or ''}", soft_wrap=True
            )

    with open_pool(ray, Limits(workers=jobs or (None if ray else 1))) as pool:
        record_trials(pool, tasks(), folder, watch)
    write_card(folder, f"python -m compiler_gym.tuning.changes {shlex.join(sys.argv[1:])}")


@app.command()
def train(
    tables: Annotated[list[Path], typer.Argument(help="The folders of tables of trials.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of the model.")],
) -> None:
    """Train a model of the gain of changes. The same rows give the same file.

    If several tables have the same program, the row of the first counts.
    """
    first: dict[str, dict[str, Any]] = {}
    for row in (row for table in tables for row in rows_of(table) if row["changes"]):
        first.setdefault(row["program"], row)
    rows = sorted(first.values(), key=lambda row: row["trials"])
    about = {
        "programs": len(rows),
        "packages": len(packages_of(rows)),
        "trials": sum(map(trials_in, rows)),
        "clang": sorted({row["clang"] for row in rows}),
    }
    output.write_text(train_ranking(rows, about=about).as_json(), encoding="utf-8")


@app.command()
def judge(
    rows: Annotated[Path, typer.Option("--output", "-o", help="The file of the rows.")],
    model: Annotated[Path | None, typer.Option(help="A model; by default the shipped one.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of programs.")] = 40,
    seed: Annotated[int, typer.Option(help="Chooses the programs.")] = 1,
    evaluations: Annotated[int, typer.Option(min=1, help="Of each search.")] = 60,
    jobs: Annotated[int, typer.Option(min=1, help="Compilers at a time.")] = 1,
    minutes: Annotated[float, typer.Option(help="When to begin no more programs.")] = 600.0,
) -> None:
    """Compare the model's order with the portfolio's on held-out programs.

    The programs are from the part test. The command can be repeated: it continues with programs
    that are not in the file.
    """
    ranking = Ranking.from_json(model.read_text(encoding="utf-8")) if model else shipped_ranking()
    datasets = Datasets(get_llvm_datasets())
    end = time.monotonic() + 60 * minutes
    done = read_rows(rows)
    for program in breadth_first(datasets, "test", count, None, seed):
        if sum(row.is_counted for row in done.values()) >= count or time.monotonic() > end:
            break
        if program not in done:
            row = judged(datasets.benchmark(program), ranking, evaluations, jobs)
            done[program] = row
            with rows.open("a", encoding="utf-8") as file:
                file.write(row.as_json() + "\n")
            _console.print(f"{program} {row.loaded}", soft_wrap=True)
    print(table_of(done.values()))


if __name__ == "__main__":
    app()
