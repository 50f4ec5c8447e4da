"""Tables and the picture of results."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.zero_shot.experiment import Result, Sizes
from benchmarks.zero_shot.task import ENV_ID
from compiler_gym.evaluation import Evaluation
from compiler_gym.evaluation.rows import EvaluationRow
from compiler_gym.tuning.policies.policy import COST
from compiler_gym.util.statistics import bootstrap_interval, geometric_mean


def summary(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Returns the results of each method."""
    methods: dict[str, list[Result]] = {}
    for each in results:
        methods.setdefault(each.method, []).append(each)
    return methods


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns a 95 % confidence interval of the geometric mean over seeds; None with one seed."""
    if len(values) < 2:
        return None
    low, high = bootstrap_interval(np.log(values), np.random.default_rng(0))
    return float(np.exp(low)), float(np.exp(high))


def to_markdown(results: Iterable[Result]) -> str:
    """Returns a table: the geometric mean of each method over seeds, with its interval."""
    lines = [
        "| | steps before | at best on the way | at the end | seeds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for method, rows in summary(results).items():
        cells = [_cell([row.best for row in rows]), _cell([row.final for row in rows])]
        steps = min(row.steps for row in rows)
        lines.append(f"| {method} | {steps:,} | {cells[0]} | {cells[1]} | {len(rows)} |")
    return "\n".join(lines) + "\n"


def _cell(values: Sequence[float]) -> str:
    return _with_ends(geometric_mean(values), interval(values))


def comparison(sizes: Sizes, policy: str, other: str) -> tuple[float, float, float]:
    """Compares two policies on each program, and returns the ratio of their smallest sizes.

    Returns:
        The geometric mean of the ratio over programs, and the ends of its 95 % confidence
        interval. Below 1, the first policy is better. Seeds are averaged before.
    """
    one, two = _logarithms(sizes, policy), _logarithms(sizes, other)
    differences = [one[program] - two[program] for program in one if program in two]
    low, high = bootstrap_interval(differences, np.random.default_rng(0))
    return float(np.exp(np.mean(differences))), float(np.exp(low)), float(np.exp(high))


def _logarithms(sizes: Sizes, policy: str) -> dict[str, float]:
    """Returns the mean logarithm of the sizes of each program over seeds."""
    columns = [sizes[name] for name in sizes if name.rpartition("/")[0] == policy]
    return {
        program: float(np.mean([np.log(max(column[program], 1)) for column in columns]))
        for program in sizes["O0"]
        if all(program in column for column in columns)
    }


def comparisons_to_markdown(sizes: Sizes, policy: str) -> str:
    """Returns a table: the sizes of a policy, divided by those of the others."""
    if f"{policy}/0" not in sizes:
        return ""
    names = dict.fromkeys(name.rpartition("/")[0] for name in sizes if "/" in name)
    lines = [f"| {policy}, against | ratio of sizes |", "| --- | ---: |"]
    for name in names:
        if name != policy:
            ratio, low, high = comparison(sizes, policy, name)
            lines.append(f"| {name} | {ratio:.1%} ({low:.1%} to {high:.1%}) |")
    return "\n".join(lines) + "\n"


def evaluations(sizes: Sizes) -> dict[str, Evaluation]:
    """Returns the smallest sizes of each policy as evaluations, whose rows have no actions."""
    rows: dict[str, list[EvaluationRow]] = {}
    for name, column in sizes.items():
        policy, _, seed = name.rpartition("/")
        for program, size in column.items():
            if policy:
                ends = sizes["O0"][program], sizes["Oz"][program], size, size
                rows.setdefault(policy, []).append(EvaluationRow(program, int(seed), *ends, ()))
    return {
        policy: Evaluation(ENV_ID, COST, f"{COST}Oz", tuple(each)) for policy, each in rows.items()
    }


def best_of_to_markdown(sizes: Sizes, fixed: str) -> str:
    """Returns a table with intervals over packages, the best of k, and a comparison with a list."""
    found = evaluations(sizes)
    seeds = {name: len({row.seed for row in each.rows}) for name, each in found.items()}
    counts = [k for k in (5, 25) if k <= max(seeds.values())]
    head = ["", "one episode", f"beside {fixed}", *(f"best of {k}" for k in counts)]
    lines = [_row(head), _row(["---", *["---:"] * (len(head) - 1)])]
    for policy, evaluation in found.items():
        beside = ""
        if policy != fixed:
            comparison = evaluation.compared_with(found[fixed])
            beside = _with_ends(comparison.ratio, comparison.interval)
        mean = _with_ends(evaluation.final, evaluation.interval(over="packages"))
        best = (f"{evaluation.best_of(k):.1%}" if k <= seeds[policy] else "" for k in counts)
        lines.append(_row([policy, mean, beside, *best]))
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _with_ends(value: float, ends: tuple[float, float] | None) -> str:
    return f"{value:.1%} ({ends[0]:.1%} to {ends[1]:.1%})" if ends else f"{value:.1%}"


def draw(results: Iterable[Result], path: Path) -> None:
    """Draws a row for each method: its geometric means and their intervals."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    # The same picture for the same numbers, with text that is text.
    rcParams.update({"svg.hashsalt": "compiler_gym", "svg.fonttype": "none"})
    methods = summary(results)
    figure = Figure(figsize=(7.2, 0.6 + 0.3 * len(methods)), layout="constrained")
    axes = figure.subplots()
    for label, marker in (("best", "o"), ("final", "x")):
        shown = "at best on the way" if label == "best" else "at the end"
        for row, values in enumerate(methods.values()):
            numbers = [getattr(each, label) for each in values]
            color = "C0" if label == "best" else "C1"
            ends = interval(numbers)
            if ends:
                axes.plot(ends, [row, row], color=color, linewidth=2, alpha=0.5)
            name = shown if row == 0 else None
            mean = geometric_mean(numbers)
            axes.plot([mean], [row], marker, color=color, label=name, linestyle="")
    axes.axvline(1, color="black", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(methods)), [name.replace("`", "") for name in methods])
    axes.invert_yaxis()
    axes.set(xlabel="instructions left, of those that -Oz leaves")
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
