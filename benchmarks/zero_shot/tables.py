"""Tables and the picture of results."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def best_of_groups(sizes: Sizes, count: int, ordered: Collection[str]) -> dict[str, Evaluation]:
    """Returns the best of so many episodes of each policy that has them.

    Args:
        sizes: The sizes after each episode.
        count: The number of episodes in a group. Those of a policy form groups in their order.
        ordered: Policies that have an order of their own. Only their first group counts.
    """
    columns: dict[str, list[dict[str, float]]] = {}
    for name, column in sizes.items():
        if "/" in name:
            columns.setdefault(name.rpartition("/")[0], []).append(column)
    best: Sizes = {name: sizes[name] for name in ("O0", "Oz")}
    for policy, each in columns.items():
        groups = len(each) // count
        for group in range(min(groups, 1) if policy in ordered else groups):
            chosen = each[group * count : (group + 1) * count]
            best[f"{policy}/{group}"] = {
                program: min(column[program] for column in chosen) for program in sizes["O0"]
            }
    return evaluations(best)


def budgets_to_markdown(sizes: Sizes, fixed: Sequence[str], ordered: Collection[str]) -> str:
    """Returns two tables: the best of 1, 5 and 25 episodes, and the ratios to other policies.

    Args:
        sizes: The sizes after each episode.
        fixed: The policies to compare with, program by program and with the same number.
        ordered: Policies that have an order of their own.
    """
    found = {count: best_of_groups(sizes, count, ordered) for count in BUDGETS}
    names = list(found[1])
    titles = _budget_titles()
    lines = [_row(["", *titles]), _row(["---", *["---:"] * len(titles)])]
    for policy in names:
        lines.append(_row([policy, *(_share(found[count].get(policy)) for count in BUDGETS)]))
    pairs = [(count, other) for other in fixed for count in BUDGETS if other in found[count]]
    heads = [f"{titles[BUDGETS.index(count)]}, beside {other}" for count, other in pairs]
    lines += ["", _row(["", *heads]), _row(["---", *["---:"] * len(heads)])]
    for policy in names:
        cells = (_ratio(found[count], policy, other) for count, other in pairs)
        lines.append(_row([policy, *cells]))
    return "\n".join(lines) + "\n"


LIKELIEST = ", likeliest"
"""The end of the names of policies that have one episode of each seed."""


def seeds_to_markdown(sizes: Sizes, fixed: str, ordered: Collection[str], episodes: int) -> str:
    """Returns a table of policies that were trained with several seeds, beside a fixed one.

    Args:
        sizes: The sizes after each episode.
        fixed: The policy to compare with.
        ordered: Policies that have an order of their own.
        episodes: The number of episodes of each seed.
    """
    found = {count: best_of_groups(sizes, count, ordered) for count in BUDGETS}
    heads = ["seeds", *(f"{title}, beside {fixed}" for title in _budget_titles())]
    lines = [_row(["interval by seeds", *heads]), _row(["---", *["---:"] * len(heads)])]
    for policy, one in found[1].items():
        each_seed = 1 if policy.endswith(LIKELIEST) else episodes
        seeds = len({row.seed for row in one.rows}) // each_seed
        if policy not in ordered and seeds > 1:
            cells = (
                _by_seed(found[count][policy], found[count][fixed], each_seed // count)
                if count <= each_seed
                else ""
                for count in BUDGETS
            )
            lines.append(_row([policy, str(seeds), *cells]))
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def _by_seed(evaluation: Evaluation, fixed: Evaluation, groups: int) -> str:
    """Returns the ratio to a fixed policy, with its interval over seeds of so many groups."""
    rows = tuple(replace(row, seed=row.seed // groups) for row in evaluation.rows)
    ends = replace(evaluation, rows=rows).interval()
    assert ends is not None
    low, high = (end / fixed.final for end in ends)
    return _with_ends(evaluation.final / fixed.final, (low, high))


def _budget_titles() -> list[str]:
    return ["one episode", *(f"best of {count}" for count in BUDGETS[1:])]


BUDGETS = (1, 5, 25)
"""The numbers of episodes in tables of budgets."""


def _share(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return ""
    return _with_ends(evaluation.final, evaluation.interval(over="packages"))


def _ratio(found: dict[str, Evaluation], policy: str, other: str) -> str:
    if policy == other or policy not in found:
        return ""
    comparison = found[policy].compared_with(found[other])
    return _with_ends(comparison.ratio, comparison.interval)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _with_ends(value: float, ends: tuple[float, float] | None) -> str:
    return f"{value:.1%} ({ends[0]:.1%} to {ends[1]:.1%})" if ends else f"{value:.1%}"


_TOGETHER = re.compile(r", \d+ networks")

Curves = dict[tuple[str, int], list[dict[str, float]]]
"""The points of the learning curve of each policy and seed."""


def draw_budgets(curves: Curves, sizes: Sizes, ordered: Collection[str], path: Path) -> None:
    """Draws learning curves of drawn episodes, and the best of 1 to 25 episodes of each policy.

    Networks together are dashed lines in the color of single ones.

    Args:
        curves: The learning curves.
        sizes: The sizes after each episode.
        ordered: Policies that have an order of their own.
        path: The picture to write.
    """
    from matplotlib.ticker import PercentFormatter

    figure = _new_figure(3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    found = {count: best_of_groups(sizes, count, ordered) for count in range(1, max(BUDGETS) + 1)}
    colors: dict[str, str] = {}
    for policy in found[1]:
        if not policy.endswith(LIKELIEST):
            alone = _TOGETHER.sub("", policy)
            color = colors.setdefault(alone, f"C{len(colors)}")
            # Groups of other numbers would have episodes of several seeds.
            wanted = found if policy in ordered else BUDGETS
            counts = [count for count in wanted if policy in found[count]]
            shares = [found[count][policy].final for count in counts]
            style = ".-" if alone == policy else ".--"
            right.plot(counts, shares, style, color=color, label=policy.replace("`", ""))
    for (title, _), points in curves.items():
        left.plot(
            [point["passes"] / 1e6 for point in points],
            [point["drawn"] for point in points],
            color=colors[f"{title}, drawn"],
            linewidth=0.8,
        )
    left.set(xlabel="million passes of training", ylabel="instructions left, of -Oz")
    right.set(xlabel="episodes", xscale="log", xticks=BUDGETS, xticklabels=BUDGETS)
    for axes in (left, right):
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.grid(alpha=0.3)
    figure.legend(fontsize="x-small", loc="outside right upper")
    figure.savefig(path, metadata={"Date": None})


def draw(results: Iterable[Result], path: Path) -> None:
    """Draws a row for each method: its geometric means and their intervals."""
    from matplotlib.ticker import PercentFormatter

    methods = summary(results)
    figure = _new_figure(0.6 + 0.3 * len(methods))
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


def _new_figure(height: float) -> Any:
    """Returns a figure that gives the same picture for the same numbers, with text that is text."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update({"svg.hashsalt": "compiler_gym", "svg.fonttype": "none"})
    return Figure(figsize=(7.2, height), layout="constrained")
