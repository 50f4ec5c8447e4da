"""A report of the speed of programs by ``compiler-gym optimize``, relative to ``clang -O3``.

Each program of ``kernels-v0`` and ``programs-v0`` is searched. After the search, new runs measure
four programs in turns: that of ``clang -O3``, the result of the search, that of profile-guided
optimisation (PGO) with the same input, and a copy of the first for the noise. Each run is one of a
new copy of the file. Run it on an idle machine, on one processor::

    taskset -c 1 bazel run //benchmarks:speed_report -- --keep $PWD/rows.jsonl
    taskset -c 1 bazel run //benchmarks:speed_report -- --identical 1000 --keep $PWD/claims.jsonl

An interrupted run goes on with the programs that are not in the file of --keep. With --identical,
programs are compared with their own copies, as a search compares its result: each claim is false.
"""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
from compiler_gym.tuning.size.compilation import Compilation, change_as_json
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.inputs import known_program
from compiler_gym.tuning.speed.optimizer import SpeedOptimizer, is_claimed, seconds_of_copy
from compiler_gym.tuning.speed.profile import COUNTS, train
from compiler_gym.tuning.speed.workload import ProgramWorkload, Stopwatch
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.statistics import compare_paired_runtimes, geometric_mean

DATASETS = ("benchmark://kernels-v0", "benchmark://programs-v0")
LEVEL = "-O3"
PAIRS_OF_CLAIM = 20
# Shorter runs are repeated for one measurement.
_SAMPLE_SECONDS, _MAX_REPEATS = 0.02, 20
_MIN_ROUNDS, _MAX_ROUNDS = 16, 60
_TIMEOUT_SECONDS = 600


def all_programs() -> list[str]:
    """Returns the URIs of the programs that can be run and validated."""
    datasets = LlvmDatasets(get_llvm_datasets())
    return [uri for name in DATASETS for uri in datasets[name].benchmark_uris()]


class Subject:
    """A program that is measured.

    Args:
        uri: Its URI.
        folder: An empty folder for files.

    Attributes:
        workload: The runs by which it is measured.
        compilation: Its compilation with ``clang -O3``.
    """

    def __init__(self, uri: str, folder: Path):
        program = known_program(LlvmDatasets(get_llvm_datasets()), uri, folder, for_size=False)
        assert program.validator is not None  # Programs of these datasets have inputs.
        self.workload = ProgramWorkload(program.validator)
        self.compilation = Compilation(
            llvm_tools.clang_path(), program.path, (LEVEL,), llvm_tools.own_passes_path()
        )
        self._folder = folder

    def program(self, name: str, options: Sequence[str] = ()) -> Path:
        """Compiles and links the program with more options of clang.

        Raises:
            CommandError: If clang fails.
            ValueError: If the program does not link, or prints something else.
        """
        object_file = self._folder / f"{name}.o"
        run_command([*self.compilation.command(object_file), *options], _TIMEOUT_SECONDS)
        return self.linked(name, object_file)

    def linked(self, name: str, object_file: Path) -> Path:
        """Links an object file, and checks the program."""
        # Names of equal length, because the stack begins below them.
        program = self._folder / f"program-{name:_>16}" / "program"
        program.parent.mkdir()
        self.workload.link(object_file, program)
        if error := self.workload.check(program):
            raise ValueError(f"{name}: {error}")
        return program

    def profile_guided(self) -> Path:
        """Returns the program of ``clang -fprofile-use`` with a profile of the same runs.

        Raises:
            CommandError: If clang or llvm-profdata fails.
            ValueError: As :meth:`program`, or if the instrumented program fails.
        """
        profile = self._folder / "pgo.profdata"
        train(self.compilation, self.compilation.source, self.workload, profile)
        return self.program("pgo", [f"-fprofile-use={profile}"])


def stopwatch_of_copies(seconds: Callable[[Path], float]) -> Stopwatch[Path]:
    """Returns a stopwatch that measures new copies of programs."""
    return Stopwatch(lambda path: seconds_of_copy(path, seconds), np.random.default_rng())


def compare(before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    """Returns the comparison of run times, and whether it would be claimed."""
    comparison = compare_paired_runtimes(before, after)
    return {**asdict(comparison), "claimed": is_claimed(comparison)}


def search(
    uri: str, seconds: float, measure_seconds: float, seed: int, with_profile: bool
) -> dict[str, Any]:
    """Searches a program, and measures the result with new runs.

    Args:
        uri: The program.
        seconds: The time limit of the search.
        measure_seconds: The time for the runs after it.
        seed: Seeds the order of runs of the search.
        with_profile: Whether a result may need a profile.

    Returns:
        A row of the report: the options, and for each program its comparison with ``clang -O3``.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "search"
        work.mkdir()
        subject = Subject(uri, folder)
        with Evaluator(subject.compilation, work, Budget(seconds)) as evaluator:
            # No part of the time is for a proof: the runs after the search are one.
            optimizer = SpeedOptimizer(
                evaluator,
                subject.workload,
                seed=seed,
                target=folder / "search.o",
                with_profile=with_profile,
            )
            optimizer.start()
            optimizer.run()
            spent = evaluator.budget.passed
            evaluator.restore(optimizer.leading.evaluation)
            programs = {
                "clang": subject.program("clang"),
                "search": subject.linked("search", optimizer.leading.evaluation.path),
            }
        programs["copy"] = programs["clang"].parents[1] / f"program-{'copy':_>16}" / "program"
        programs["copy"].parent.mkdir()
        shutil.copy2(programs["clang"], programs["copy"])
        row: dict[str, Any] = {
            "program": uri,
            "seconds": spent,
            "evaluations": evaluator.budget.used,
            "wrong": len(optimizer.wrong),
            "estimate": optimizer.estimate,
            "stages": [asdict(each) for each in optimizer.stages],
            "change": change_as_json(optimizer.leading.change),
        }
        try:
            programs["pgo"] = subject.profile_guided()
        except (CommandError, ValueError) as error:
            row["pgo_error"] = str(error)[:500]
        run_seconds = optimizer.run_seconds
        repeats = min(max(1, math.ceil(_SAMPLE_SECONDS / run_seconds)), _MAX_REPEATS)
        rounds = round(measure_seconds / (repeats * run_seconds * len(programs)))
        rounds = min(max(rounds, _MIN_ROUNDS), _MAX_ROUNDS)
        watch = stopwatch_of_copies(
            lambda path: sum(subject.workload.seconds(path) for _ in range(repeats))
        )
        times = [watch.round([*programs.values()]) for _ in range(rounds)]
        columns = dict(zip(programs, zip(*times, strict=True), strict=True))
        row["times"] = columns
        row |= {each: compare(columns["clang"], columns[each]) for each in [*programs][1:]}
        return row


def compare_copies(uri: str, repetitions: int) -> Iterator[dict[str, Any]]:
    """Compares a program with its own copy, and yields the result of each repetition."""
    with tempfile.TemporaryDirectory() as name:
        subject = Subject(uri, Path(name))
        # One short run for each measurement: a thousand comparisons take long enough.
        validator = subject.workload.validator
        subject.workload.validator = replace(validator, runs=validator.runs[:1])
        first = subject.program("clang")
        second = first.parents[1] / f"program-{'copy':_>16}" / "program"
        second.parent.mkdir()
        shutil.copy2(first, second)
        watch = stopwatch_of_copies(subject.workload.seconds)
        for _ in range(repetitions):
            times = watch.compare(first, second, PAIRS_OF_CLAIM)
            yield {"program": uri, **compare(*times)}


def noise(row: dict[str, Any]) -> float:
    """Returns the standard deviation of the logarithm of ratios of equal programs."""
    return float(np.std(np.log(row["times"]["clang"]) - np.log(row["times"]["copy"])))


def described(change: Mapping[str, Sequence[str]]) -> str:
    """Returns a short text for a change: its options, and what it has besides."""
    words = [each for each in change.get("options", ()) if not each.startswith(COUNTS)]
    words += [each.partition("<")[2].rstrip(">") for each in change.get("passes", ())]
    words += [f"loop {each}" for each in change.get("loops", ())]
    words += [f"call {each}" for each in change.get("calls", ())]
    if "profile" in change or len(words) < sum(map(len, change.values())):
        words.insert(0, "profile")
    return ", ".join(f"`{each}`" if each[0] == "-" else each for each in words)


def needs_profile(row: Mapping[str, Any]) -> bool:
    """Returns true if the result of a search needs a profile."""
    change = row["change"]
    options = change.get("options", ())
    return "profile" in change or any(each.startswith(COUNTS) for each in options)


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Prints a line of Markdown for each program, and the sums."""
    print("| program | speedup | 95 % interval | PGO | copy | noise | tries | changes |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for row in sorted(rows, key=lambda row: -row["search"]["speedup"]):
        found = row["search"]
        cells = [row["program"].rpartition("/")[2], f"{found['speedup']:.3f}"]
        cells.append(f"{found['low']:.3f} to {found['high']:.3f}")
        cells.append(f"{row['pgo']['speedup']:.3f}" if "pgo" in row else "")
        cells += [f"{row['copy']['speedup']:.3f}", f"{noise(row):.1%}", str(row["evaluations"])]
        cells.append(described(row["change"]) if found["claimed"] else "not proven")
        print(f"| {' | '.join(cells)} |")
    claimed = [row for row in rows if row["search"]["claimed"]]
    print(f"\n{len(rows)} programs, {len(claimed)} proven to be faster.")
    for least in (1.03, 1.05, 1.1):
        fast = [row for row in claimed if row["search"]["speedup"] >= least]
        pgo = [row["pgo"] for row in rows if "pgo" in row]
        guided = sum(each["claimed"] and each["speedup"] >= least for each in pgo)
        plain = sum(not needs_profile(row) for row in fast)
        print(
            f"At least {least - 1:.0%} faster, proven: {len(fast)}, {plain} of them without a "
            f"profile; PGO: {guided}."
        )
    kept = [row["search"]["speedup"] if row["search"]["claimed"] else 1.0 for row in rows]
    speedups = [row["pgo"]["speedup"] for row in rows if "pgo" in row]
    print(f"Geometric means: {geometric_mean(kept):.3f}; PGO: {geometric_mean(speedups):.3f}.")


def print_claims(rows: Sequence[dict[str, Any]]) -> None:
    """Prints how often equal programs were claimed to differ."""
    faster = sum(row["claimed"] for row in rows)
    significant = sum(row["low"] > 1 and row["p_value"] < 0.05 for row in rows)
    programs = len({row["program"] for row in rows})
    print(
        f"{len(rows)} comparisons of {programs} programs with their copies: {faster} false claims."
    )
    print(f"With a level of 5 %, there would be {significant}.")
    print(f"Smallest p: {min(row['p_value'] for row in rows):.1e}.")


def read_rows(path: Path | None) -> list[dict[str, Any]]:
    """Returns the rows of a file; none without it."""
    if path is None or not path.is_file():
        return []
    return [*map(json.loads, path.read_text(encoding="utf-8").splitlines())]


def keep_row(path: Path | None, row: dict[str, Any]) -> None:
    """Appends a row to a file."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def main(
    programs: Annotated[list[str] | None, typer.Argument(help="Programs. [default: all]")] = None,
    seconds: Annotated[float, typer.Option(help="The time limit of a search.")] = 60,
    measure_seconds: Annotated[float, typer.Option(help="The time for runs after it.")] = 8,
    seed: Annotated[int, typer.Option(help="Seeds the order of runs.")] = 0,
    without_profile: Annotated[
        bool, typer.Option("--without-profile", help="Find only what needs no profile.")
    ] = False,
    identical: Annotated[int, typer.Option(help="Compare programs with their copies.")] = 0,
    keep: Annotated[Path | None, typer.Option(help="A file for rows.")] = None,
    table: Annotated[bool, typer.Option("--table", help="Print the rows of --keep only.")] = False,
) -> None:
    """Show how much faster programs get."""
    rows = read_rows(keep)
    uris = programs or all_programs()
    if identical:
        for number, uri in enumerate(uris):
            count = identical * (number + 1) // len(uris) - identical * number // len(uris)
            known = sum(row["program"] == uri for row in rows)
            for row in () if table else compare_copies(uri, max(0, count - known)):
                rows.append(row)
                keep_row(keep, row)
        print_claims(rows)
        return
    known = {row["program"] for row in rows}
    for uri in () if table else uris:
        if uri not in known:
            try:
                rows.append(search(uri, seconds, measure_seconds, seed, not without_profile))
            except ValueError as error:
                print(f"{uri}: {error}", flush=True)
                continue
            keep_row(keep, rows[-1])
            found = rows[-1]["search"]
            print(
                f"{uri} {found['speedup']:.3f} ({found['low']:.3f}, {found['high']:.3f})",
                flush=True,
            )
    print_table(rows)


if __name__ == "__main__":
    typer.run(main)
