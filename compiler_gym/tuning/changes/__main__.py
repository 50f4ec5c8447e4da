"""Records trials and learns from them: ``python -m compiler_gym.tuning.changes``."""

import shlex
import sys
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from compiler_gym.cli.options import check_outputs
from compiler_gym.cli.pool_options import RayOption
from compiler_gym.datasets import Datasets
from compiler_gym.datasets.selection import breadth_first
from compiler_gym.distributed.opening import open_pool
from compiler_gym.distributed.pool import Limits
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, Outcome
from compiler_gym.envs.llvm.datasets.llvm_datasets import get_llvm_datasets
from compiler_gym.envs.llvm.datasets.opensource_dataset import OpenSourceDataset
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.changes.one_run import OneRunTrials, adjustments_for, rows_of_one_run
from compiler_gym.tuning.changes.one_run_training import (
    OneRunRow,
    judged_one_run,
    table_of_one_run,
    write_one_run,
)
from compiler_gym.tuning.changes.one_run_training import train_one_run as model_of_one_run
from compiler_gym.tuning.changes.targets import target_named
from compiler_gym.tuning.changes.training import JudgedRow, judge_programs, judged, table_of
from compiler_gym.tuning.changes.training import train as train_ranking
from compiler_gym.tuning.changes.trials import (
    FILE,
    Trials,
    first_rows,
    packages_of,
    trials_in,
    write_card,
)
from compiler_gym.tuning.changes.trials import record as record_trials
from compiler_gym.tuning.size.ranking import Ranking, shipped_ranking

TargetOption = Annotated[
    str, typer.Option(help="x86_64, aarch64, thumb (Cortex-M4), thumbv6m (M0+) or riscv32.")
]
HeadersOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="A folder with headers of the target; can be given several times.", show_default=False
    ),
]

# Files with this many times as much code for x86-64 have too much for other targets, too.
_MOST_CODE_ON_X86 = 2

app = typer.Typer(add_completion=False, no_args_is_help=True)
_console = Console(stderr=True, highlight=False)


def _code_on_x86(datasets: Datasets, part: str) -> dict[str, int]:
    """Returns the bytes of code and constants of files, as the published table has them."""
    dataset = datasets.dataset(OpenSourceDataset.NAME)
    assert isinstance(dataset, OpenSourceDataset)
    return {facts.benchmark: facts.code_bytes_oz for facts in dataset.table(part)}


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
    one_run: Annotated[
        bool,
        typer.Option(help="Try single decisions for the plugin that makes one run smaller."),
    ] = False,
    target: TargetOption = "x86_64",
    headers: HeadersOption = None,
    call_groups: Annotated[
        int, typer.Option(min=0, help="Of --one-run: the most groups of decisions about calls.")
    ] = 6,
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

    The command can be repeated: it continues with files that are not in the table. A target other
    than x86_64 is for --one-run. Files that do not compile for it are left out.
    """
    if target != "x86_64" and not one_run:
        raise typer.BadParameter("expected --one-run with another target than x86_64")
    machine = target_named(target)
    datasets = Datasets(get_llvm_datasets())
    uris = breadth_first(datasets, part, most, packages, seed)
    settings: dict[str, Any] = {
        "seed": seed,
        "toggles": toggles,
        "alone": alone,
        "combined": combined,
        "instructions": instructions,
        "most_text": most_text,
    }
    end = time.monotonic() + 60 * minutes
    code = _code_on_x86(datasets, part) if one_run else {}

    def tasks() -> Iterator[Job]:
        for uri in uris:
            if time.monotonic() > end:
                return
            if code.get(uri, 0) > _MOST_CODE_ON_X86 * most_text:
                continue  # It gets no trials, and to compile it may take minutes.
            try:
                found = Program.of(machine.compiled(datasets, uri, headers or ()))
                if one_run:
                    yield OneRunTrials.job(
                        found,
                        adjustments=adjustments_for(target),
                        options=machine.options,
                        most_text=most_text,
                        most_groups=call_groups,
                    )
                else:
                    yield Trials.job(found, **settings)
            except BenchmarkInitError as error:
                _console.print(f"{uri} is left out: {error}", soft_wrap=True)

    def watch(outcome: Outcome | None) -> None:
        if outcome is not None:
            task = outcome.task
            assert isinstance(task, Trials | OneRunTrials)
            _console.print(
                f"{task.program} {outcome.seconds:.1f} s {outcome.error or ''}", soft_wrap=True
            )

    with open_pool(ray, Limits(workers=jobs or (None if ray else 1))) as pool:
        record_trials(pool, tasks(), folder, watch)
    if not one_run:
        write_card(folder, f"python -m compiler_gym.tuning.changes {shlex.join(sys.argv[1:])}")


@app.command()
def train(
    tables: Annotated[list[Path], typer.Argument(help="The folders of tables of trials.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of the model.")],
) -> None:
    """Train a model of the gain of changes. The same rows give the same file.

    If several tables have the same program, the row of the first counts.
    """
    check_outputs((table / FILE for table in tables), [output])
    rows = first_rows(tables, lambda row: bool(row["changes"]))
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
    programs = breadth_first(datasets, "test", count, None, seed)

    def judge_one(program: str) -> JudgedRow:
        row = judged(datasets.benchmark(program), ranking, evaluations, jobs)
        _console.print(f"{program} {row.loaded}", soft_wrap=True)
        return row

    in_time = takewhile(lambda _: time.monotonic() <= end, programs)
    found = judge_programs(rows, JudgedRow, in_time, count, judge_one)
    print(table_of(found))


@app.command()
def train_one_run(
    tables: Annotated[list[Path], typer.Argument(help="Folders of tables of `record --one-run`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of the model.")],
    target: TargetOption = "x86_64",
    enough: Annotated[
        tuple[float, float],
        typer.Option(
            help="The least share of a program's code that the decisions before any pass, and those"
            " before machine code is generated, are expected to save. None is made otherwise."
        ),
    ] = (0.0, 0.0),
) -> None:
    """Train the model of a target for the plugin that makes one run of clang smaller.

    The same rows give the same file.
    """
    check_outputs((table / FILE for table in tables), [output])
    rows = rows_of_one_run(tables)
    about = f"{len(rows)} programs, {rows[0]['clang']}" if rows else ""
    write_one_run(output, target, model_of_one_run(rows, about, enough))


@app.command()
def judge_one_run(
    rows: Annotated[Path, typer.Option("--output", "-o", help="The file of the rows.")],
    model: Annotated[Path | None, typer.Option(help="A model; by default the shipped one.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of programs.")] = 200,
    seed: Annotated[int, typer.Option(help="Chooses the programs.")] = 1,
    part: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    runs: Annotated[int, typer.Option(min=1, help="Runs of clang; the fastest counts.")] = 3,
    target: TargetOption = "x86_64",
    headers: HeadersOption = None,
) -> None:
    """Compare one run of clang with the plugin with one without, on held-out programs.

    The command can be repeated: it continues with programs that are not in the file. Programs that
    do not compile for the target are left out.
    """
    machine = target_named(target)
    datasets = Datasets(get_llvm_datasets())

    def judge_one(program: str) -> OneRunRow:
        try:
            benchmark = machine.compiled(datasets, program, headers or ())
        except BenchmarkInitError:
            return OneRunRow(program)
        return judged_one_run(benchmark, model, runs, machine.options)

    programs = breadth_first(datasets, part, count, None, seed)
    found = judge_programs(rows, OneRunRow, programs, count, judge_one)
    print(table_of_one_run([row for row in found if row.is_counted]))


if __name__ == "__main__":
    app()
