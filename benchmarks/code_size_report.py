"""How much smaller ``compiler-gym optimize`` makes programs than ``clang -Oz``.

Each is compiled from its source. What is found of a built-in program is linked, run on both inputs,
and compared with what it must print, at the end of each stage of the search. Files of released
software are not run. Run it with::

    bazel run //benchmarks:code_size_report
    bazel run //benchmarks:code_size_report -- --opensource 100
"""

import argparse
import math
import os
import random
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun, ProgramValidator
from compiler_gym.envs.llvm.datasets.kernels_dataset import INPUT_SETS, KERNELS_PATH
from compiler_gym.envs.llvm.datasets.named_datasets import get_llvm_datasets
from compiler_gym.envs.llvm.datasets.opensource_dataset import LANGUAGES, OpenSourceDataset
from compiler_gym.envs.llvm.size.checks import Check, program_check
from compiler_gym.envs.llvm.size.compilation import Compilation
from compiler_gym.envs.llvm.size.evaluator import Budget, Evaluator
from compiler_gym.envs.llvm.size.optimizer import Objective, Optimizer
from compiler_gym.envs.llvm.size.portfolio import Portfolio, shipped_portfolio

MILESTONES = (1, 10, 60, 120)
_OPTIONS = ("-std=c11", "-w")
# Bytes of code of files that are worth a row.
_WORTHWHILE = range(1_000, 20_000)


@dataclass(frozen=True)
class Source:
    """What is compiled, and how its result is checked, if that is known."""

    name: str
    path: Path
    options: tuple[str, ...]
    check: Check | None = None

    @property
    def compilation(self) -> Compilation:
        return Compilation(tools.clang_path(), self.path, self.options, tools.own_passes_path())

    def code_bytes(self) -> int:
        """How much code clang makes of it."""
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


def opensource_sources(count: int, seed: int) -> list[Source]:
    """Files of the packages that are held back, of a size that is worth it."""
    dataset = next(each for each in get_llvm_datasets() if isinstance(each, OpenSourceDataset))
    uris = sorted(dataset.benchmark_uris("test"))
    random.Random(seed).shuffle(uris)
    sources = (opensource_source(dataset, uri) for uri in uris)
    return [*islice((each for each in sources if each.code_bytes() in _WORTHWHILE), count)]


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
    """What came of a program: sizes after as many evaluations, and at the end of stages."""

    name: str
    before: int
    at: dict[int, int]
    stages: dict[str, int]
    seconds: float
    wrong: int
    evaluations: int


def measure(source: Source, evaluations: int, jobs: int, objective: Objective) -> Row:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        budget = Budget(evaluations=evaluations)
        # Nothing learned from one program is used for another.
        portfolio = Portfolio(Path(work) / "learned.json")
        with Evaluator(source.compilation, Path(work), budget, jobs) as evaluator:
            search = Optimizer(evaluator, objective, source.check, portfolio)
            search.start()
            search.run()
    return Row(
        name=source.name,
        before=search.size(search.baseline),
        at={count: _size_at(search, count) for count in MILESTONES if count <= evaluations},
        stages={stage.name: stage.size for stage in search.stages},
        seconds=time.monotonic() - begin,
        wrong=len(search.wrong),
        evaluations=budget.used,
    )


def portfolio_gains(names: list[str], jobs: int) -> dict[str, float]:
    """By the name of each change of the portfolio how much smaller it makes programs on average."""
    known = shipped_portfolio()
    gains: dict[str, list[float]] = {each.name: [] for each in known}
    for name in names:
        with (
            tempfile.TemporaryDirectory() as work,
            Evaluator(kernel(name).compilation, Path(work), Budget(), jobs) as evaluator,
        ):
            before = evaluator.evaluate_source().object.text
            found = {each.change: each for each in evaluator.evaluate([k.change for k in known])}
        for each in known:
            gains[each.name].append(saved(before, found[each.change].object.text))
    return {name: sum(values) / len(values) for name, values in gains.items()}


def _size_at(search: Optimizer, count: int) -> int:
    # The search may have ended before, with what is its result.
    reached = [size for used, _, size in search.curve if used <= count]
    return max(reached[-1], search.size(search.best))


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
    lines += ["", "| saved | " + " | ".join(f"after {count}" for count in counts) + " |"]
    lines.append(f"|---|{'---:|' * len(counts)}")
    for name, value in (
        ("geometric mean", lambda pairs: f"{geomean_saved(pairs):.2%}"),
        ("least", lambda pairs: f"{min(saved(*pair) for pair in pairs):.2%}"),
        ("most", lambda pairs: f"{max(saved(*pair) for pair in pairs):.2%}"),
        ("programs smaller", lambda pairs: f"{sum(b > a for b, a in pairs)} of {len(pairs)}"),
    ):
        cells = [value([(row.before, row.at[count]) for row in rows]) for count in counts]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "By the end of each stage: " + ", ".join(_stages(rows))]
    return "\n".join(lines)


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
    parser.add_argument("--objective", choices=[each.value for each in Objective], default="text")
    parser.add_argument("--opensource", type=int, help="so many files of opensource-v0 instead")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    parser.add_argument("--portfolio", action="store_true", help="the gains of its changes alone")
    arguments = parser.parse_args()
    known = sorted(path.parent.name for path in KERNELS_PATH.glob("*/program.c"))
    if arguments.portfolio:
        gains = portfolio_gains(arguments.programs or known, arguments.jobs)
        for name, gain in sorted(gains.items(), key=lambda item: -item[1]):
            print(f"{gain:.4f} {name}")
        return
    sources = [kernel(name) for name in arguments.programs or known]
    if arguments.opensource:
        sources = opensource_sources(arguments.opensource, arguments.seed)
    rows = []
    for source in sources:
        objective = Objective(arguments.objective)
        rows.append(measure(source, arguments.evaluations, arguments.jobs, objective))
        row = rows[-1]
        print(f"{row.name}: {row.before} -> {row.at}, {row.stages}", flush=True)
    print(f"\n{report(rows)}")


if __name__ == "__main__":
    main()
