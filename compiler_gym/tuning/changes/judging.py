"""Compares search orders on programs that nothing was learnt from."""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import add_attributes
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import Ranking
from compiler_gym.tuning.size.trial_link import trial_linker
from compiler_gym.util.statistics import geometric_mean

MILESTONES = (1, 10, 60, 120)
"""Numbers of evaluations to report."""

ORDERS = ("portfolio", "model")
# Bytes of code of files that are worth a row.
_WORTHWHILE = range(1_000, 20_000)

Sizes = dict[str, dict[str, int]]
"""Bytes by order and number of evaluations; those of ``clang -Oz`` at 0."""


@dataclass(frozen=True)
class JudgedRow:
    """The results of both orders on a program; empty if it has too little or too much code.

    Attributes:
        program: The URI of the program.
        loaded: All bytes that are loaded.
        code: Bytes of code of the same results.
    """

    program: str
    loaded: Sizes
    code: Sizes

    @property
    def is_counted(self) -> bool:
        """True if the program has results."""
        return bool(self.loaded)

    def as_json(self) -> str:
        """Returns the row as a line of JSON."""
        return json.dumps(asdict(self))


def read_rows(path: Path) -> dict[str, JudgedRow]:
    """Returns the rows of a file by program; none if there is no file."""
    if not path.is_file():
        return {}
    rows = (JudgedRow(**json.loads(line)) for line in path.read_text().splitlines())
    return {row.program: row for row in rows}


def judged(benchmark: Benchmark, ranking: Ranking, evaluations: int, jobs: int) -> JudgedRow:
    """Searches with both orders.

    Args:
        benchmark: The program.
        ranking: The model.
        evaluations: Number of evaluations of each search.
        jobs: Compilers at a time.

    Raises:
        BenchmarkInitError: If the program cannot be compiled.
    """
    row = JudgedRow(str(benchmark.uri), {}, {})
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        source = Path(name) / "program.bc"
        add_attributes(benchmark.proto.program.contents, source, ("optsize", "minsize"))
        compilation = Compilation(tools.clang_path(), source, (), tools.own_passes_path())
        for order in ORDERS:
            budget = Budget(evaluations=evaluations)
            with (
                tempfile.TemporaryDirectory(dir=name) as folder,
                Evaluator(
                    compilation, Path(folder), budget, jobs, trial=trial_linker(())
                ) as evaluator,
            ):
                search = Optimizer(evaluator, ranking=ranking if order == "model" else None)
                search.start()
                if search.baseline.object.text not in _WORTHWHILE:
                    return row
                row.loaded[order], row.code[order] = _searched(search, evaluations)
    return row


def _searched(search: Optimizer, evaluations: int) -> tuple[dict[str, int], dict[str, int]]:
    """Runs a search. Returns the bytes that are loaded, and those of code, by milestone."""
    leads = [(0, search.baseline)]

    def watch(it: Optimizer) -> None:
        if it.leading is not leads[-1][1]:
            leads.append((it.evaluator.budget.used, it.leading))

    search.watch = watch
    search.run()
    counts = [0, *(count for count in MILESTONES if count <= evaluations)]
    found = {
        str(count): min(
            (each for used, each in leads if used <= count),
            key=lambda it: (it.loaded, it.object.text),
        )
        for count in counts
    }
    loaded = {count: each.loaded for count, each in found.items()}
    return loaded, {count: each.object.text for count, each in found.items()}


def table_of(rows: Iterable[JudgedRow]) -> str:
    """Returns what both orders save, in Markdown; a sentence if no row has results."""
    counted = [row for row in rows if row.is_counted]
    if not counted:
        return "No program has results."
    counts = [count for count in counted[0].loaded[ORDERS[0]] if count != "0"]
    lines = [f"| {len(counted)} programs | {' | '.join(f'after {n}' for n in counts)} |"]
    lines.append(f"|---|{'---:|' * len(counts)}")
    kinds: Sequence[tuple[str, Callable[[JudgedRow], Sizes]]] = (
        ("loaded bytes", lambda row: row.loaded),
        ("code", lambda row: row.code),
    )
    for kind, sizes in kinds:
        for order in ORDERS:
            ratios = [
                [sizes(row)[order][count] / sizes(row)[order]["0"] for row in counted]
                for count in counts
            ]
            means = [f"{1 - geometric_mean(each):.2%}" for each in ratios]
            larger = [str(sum(ratio > 1 for ratio in each)) for each in ratios]
            lines.append(f"| saved of {kind}, {order} | {' | '.join(means)} |")
            lines.append(f"| larger, {order} | {' | '.join(larger)} |")
    return "\n".join(lines)
