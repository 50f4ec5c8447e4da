"""A report of code sizes by ``compiler-gym optimize``, relative to ``clang -Oz``.

Programs are compiled from source. After each stage of the search, a built-in program is linked, run
on both inputs, and its output is compared with the expected one. Files of released software are not
run. Run it with::

    bazel run //benchmarks:code_size_report
    bazel run //benchmarks:code_size_report -- --opensource 100 --keep $PWD/rows.jsonl
    bazel run //benchmarks:code_size_report -- --objective linked

With --keep, an interrupted run can be resumed. Ctrl-C reports the results so far.
"""

import argparse
import json
import math
import os
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun, ProgramValidator
from compiler_gym.envs.llvm.datasets.kernels_dataset import INPUT_SETS, KERNELS_PATH
from compiler_gym.envs.llvm.datasets.llvm_datasets import get_llvm_datasets
from compiler_gym.envs.llvm.datasets.opensource_dataset import LANGUAGES, OpenSourceDataset
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.policies.policy import SHIPPED, Policy
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.inputs import Check, program_check
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import shipped_portfolio, shipped_ranking
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util import llvm_tools

MILESTONES = (1, 10, 60, 120)
_OPTIONS = ("-std=c11", "-w")
# Bytes of code of files that are worth a row.
_WORTHWHILE = range(1_000, 20_000)


@dataclass(frozen=True)
class Source:
    """The source to compile, and the check of its result, if there is one."""

    name: str
    path: Path
    options: tuple[str, ...]
    check: Check | None = None

    @property
    def compilation(self) -> Compilation:
        return Compilation(
            llvm_tools.clang_path(), self.path, self.options, llvm_tools.own_passes_path()
        )

    def code_bytes(self) -> int:
        """The size of clang's code in bytes."""
        with (
            tempfile.TemporaryDirectory() as work,
            Evaluator(self.compilation, Path(work), Budget(), 1) as evaluator,
        ):
            return evaluator.evaluate_source().object.text


def kernel(name: str) -> Source:
    folder = KERNELS_PATH / name
    runs = [
        ProgramRun(folder / f"input-{number}.txt", folder / f"expected-{number}.txt")
        for number in range(INPUT_SETS)
    ]
    return Source(name, folder / "program.c", _OPTIONS, program_check(ProgramValidator(runs)))


def opensource_sources(count: int, seed: int) -> Iterator[Source]:
    """Files of the packages that are held back, of a size that is worth it."""
    dataset = next(each for each in get_llvm_datasets() if isinstance(each, OpenSourceDataset))
    uris = sorted(dataset.benchmark_uris("test"))
    random.Random(seed).shuffle(uris)
    sources = (opensource_source(dataset, uri) for uri in uris)
    return islice(filter(_is_worthwhile, sources), count)


def _is_worthwhile(source: Source) -> bool:
    try:
        return source.code_bytes() in _WORTHWHILE
    except BenchmarkInitError as error:
        print(f"{source.name} is left out: {error}", flush=True)
        return False


def opensource_source(dataset: OpenSourceDataset, uri: str) -> Source:
    name, _, file = uri.removeprefix(f"{dataset.name}/").partition("/")
    package = dataset.packages[name]
    root = dataset.unpacked(package.distribution)
    language, standard = LANGUAGES[Path(file).suffix]
    folders = [root / Path(file).parent, *(root / folder for folder in package.include)]
    options = (
        *("-w", "-Wno-register", "-x", language, f"-std={standard}"),
        *(f"-I{folder}" for folder in folders),
        *(f"-D{macro}" for macro in package.define),
    )
    return Source(f"{name}/{file}", root / file, options)


@dataclass(frozen=True)
class Row:
    """The result for a program: sizes by number of evaluations, and at the end of stages.

    ``code`` and ``loaded`` have the bytes of code, and all that are loaded of the object file:
    before, and after as many.
    """

    name: str
    before: int
    at: dict[int, int]
    code: dict[int, int]
    loaded: dict[int, int]
    stages: dict[str, int]
    seconds: float
    wrong: int
    failed: int
    evaluations: int


class Leads:
    """The results that a search was led by, one after the other."""

    def __init__(self) -> None:
        self._found: list[tuple[int, Evaluation]] = []

    def watch(self, search: Optimizer) -> None:
        if not self._found or self._found[-1][1] is not search.leading:
            self._found.append((search.evaluator.budget.used, search.leading))

    def at(self, search: Optimizer, count: int) -> Evaluation:
        """The result after a number of evaluations, without what failed checks later.

        What the search takes back at the end of a stage is smaller than the final result.
        """
        if count >= search.evaluator.budget.used:
            return search.best
        wrong, least = {each.change for each in search.wrong}, search.size(search.best)
        met = [each for used, each in self._found if used <= count and each.change not in wrong]
        kept = (each for each in reversed(met) if search.size(each) >= least)
        return min(kept, key=search.size)


@dataclass(frozen=True)
class Way:
    """The settings of a measurement: only rows with equal settings are comparable."""

    evaluations: int
    objective: Objective
    policy: str | None
    experimental: bool = False

    @property
    def milestones(self) -> list[int]:
        """The numbers of evaluations to report, and 0."""
        return sorted({0, self.evaluations, *(n for n in MILESTONES if n < self.evaluations)})


def measure(source: Source, way: Way, jobs: int) -> Row:
    begin = time.monotonic()
    leads = Leads()
    linker = Linker() if way.objective is Objective.LINKED else None
    advice = Policy.load(way.policy).sequences_for if way.policy else None
    with tempfile.TemporaryDirectory() as work:
        budget = Budget(evaluations=way.evaluations)
        with Evaluator(
            source.compilation,
            Path(work),
            budget,
            jobs,
            linker,
            trial_linker(source.options),
            way.objective.read,
        ) as evaluator:
            search = Optimizer(
                evaluator,
                way.objective,
                source.check,
                advice,
                with_experimental=way.experimental,
                ranking=shipped_ranking(),
                watch=leads.watch,
            )
            search.start()
            search.run()
    found = {count: leads.at(search, count) for count in way.milestones}
    return Row(
        name=source.name,
        before=search.size(search.baseline),
        at={count: search.size(each) for count, each in found.items() if count},
        code={count: each.object.text for count, each in found.items()},
        loaded={count: each.loaded for count, each in found.items()},
        stages={stage.name: stage.size for stage in search.stages},
        seconds=time.monotonic() - begin,
        wrong=len(search.wrong),
        failed=evaluator.failed,
        evaluations=budget.used,
    )


@dataclass(frozen=True)
class Kept:
    """Rows in a file, so that a run that was ended can go on; without one nothing is kept."""

    path: Path | None
    way: Way

    def rows(self) -> dict[str, Row]:
        if self.path is None or not self.path.exists():
            return {}
        lines = map(json.loads, self.path.read_text().splitlines())
        rows = [_read_row(line["row"]) for line in lines if line["way"] == asdict(self.way)]
        return {row.name: row for row in rows}

    def add(self, row: Row) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"way": asdict(self.way), "row": asdict(row)}) + "\n")


def _read_row(facts: dict) -> Row:
    # Keys of JSON are texts.
    counted = {key: {int(k): v for k, v in facts[key].items()} for key in ("at", "code", "loaded")}
    return Row(**{**facts, **counted})


def portfolio_gains(names: list[str], jobs: int) -> dict[str, float]:
    """By the name of each change of the portfolio which share of the loaded bytes it saves."""
    known = shipped_portfolio(with_experimental=True)
    gains: dict[str, list[float]] = {each.name: [] for each in known}
    for source in map(kernel, names):
        trial = trial_linker(source.options)
        with (
            tempfile.TemporaryDirectory() as work,
            Evaluator(source.compilation, Path(work), Budget(), jobs, trial=trial) as evaluator,
        ):
            before = evaluator.evaluate_source().loaded
            found = {each.change: each for each in evaluator.evaluate([k.change for k in known])}
        for each in known:
            gains[each.name].append(saved(before, found[each.change].loaded))
    return {name: sum(values) / len(values) for name, values in gains.items()}


def saved(before: int, after: int) -> float:
    return 1 - after / before


def geomean_saved(pairs: list[tuple[int, int]]) -> float:
    return 1 - math.exp(sum(math.log(after / before) for before, after in pairs) / len(pairs))


def report(rows: list[Row]) -> str:
    counts = [*rows[0].at]
    head = ["program", "clang -Oz", *(f"after {count}" for count in counts), "seconds", "wrong"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for row in rows:
        sizes = [f"{row.at[count]} ({saved(row.before, row.at[count]):.1%})" for count in counts]
        cells = [row.name, str(row.before), *sizes, f"{row.seconds:.0f}", str(row.wrong)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *_summary("saved", counts, [(row.before, row.at) for row in rows])]
    code = [(row.code[0], row.code) for row in rows]
    loaded = [(row.loaded[0], row.loaded) for row in rows]
    lines += ["", *_summary("saved of code", counts, code)]
    lines += ["", *_summary("saved of all that is loaded", counts, loaded)]
    lines += ["", "By the end of each stage: " + ", ".join(_stages(rows))]
    lines.append(f"clang failed in {sum(row.failed for row in rows)} evaluations.")
    return "\n".join(lines)


def _summary(title: str, counts: list[int], sizes: list[tuple[int, dict[int, int]]]) -> list[str]:
    lines = [f"| {title} | " + " | ".join(f"after {count}" for count in counts) + " |"]
    lines.append(f"|---|{'---:|' * len(counts)}")
    for name, value in (
        ("geometric mean", lambda pairs: f"{geomean_saved(pairs):.2%}"),
        ("least", lambda pairs: f"{min(saved(*pair) for pair in pairs):.2%}"),
        ("most", lambda pairs: f"{max(saved(*pair) for pair in pairs):.2%}"),
        ("smaller", lambda pairs: f"{sum(b > a for b, a in pairs)} of {len(pairs)}"),
        ("larger", lambda pairs: f"{sum(b < a for b, a in pairs)} of {len(pairs)}"),
    ):
        cells = [value([(before, after[count]) for before, after in sizes]) for count in counts]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _stages(rows: list[Row]) -> list[str]:
    texts = []
    for name in dict.fromkeys(name for row in rows for name in row.stages):
        pairs = [(row.before, row.stages[name]) for row in rows if name in row.stages]
        texts.append(f"{name} {geomean_saved(pairs):.2%} ({len(pairs)} programs)")
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="by default all that are built in")
    parser.add_argument("--evaluations", type=int, default=max(MILESTONES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    objectives = [each.value for each in Objective if each is not Objective.REGION]
    parser.add_argument("--objective", choices=objectives, default="all")
    parser.add_argument("--policy", choices=[*SHIPPED], help="whose sequences are tried first")
    parser.add_argument("--experimental", action="store_true", help="with experimental options")
    parser.add_argument("--opensource", type=int, help="so many files of opensource-v0 instead")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    parser.add_argument("--keep", type=Path, help="a file that keeps each row")
    parser.add_argument("--portfolio", action="store_true", help="the gains of its changes alone")
    arguments = parser.parse_args()
    known = sorted(path.parent.name for path in KERNELS_PATH.glob("*/program.c"))
    if arguments.portfolio:
        gains = portfolio_gains(arguments.programs or known, arguments.jobs)
        for name, gain in sorted(gains.items(), key=lambda item: -item[1]):
            print(f"{gain:.4f} {name}")
        return
    sources: Iterable[Source] = [kernel(name) for name in arguments.programs or known]
    if arguments.opensource:
        sources = opensource_sources(arguments.opensource, arguments.seed)
    way = Way(
        arguments.evaluations,
        Objective(arguments.objective),
        arguments.policy,
        arguments.experimental,
    )
    kept = Kept(arguments.keep, way)
    done, rows = kept.rows(), []
    try:
        for source in sources:
            row = done.get(source.name)
            if row is None:
                row = measure(source, way, arguments.jobs)
                kept.add(row)
                print(f"{row.name}: {row.before} -> {row.at}, {row.stages}", flush=True)
            rows.append(row)
    except KeyboardInterrupt:
        print(f"Ctrl-C: {len(rows)} programs")
    if rows:
        print(f"\n{report(rows)}")


if __name__ == "__main__":
    main()
