"""Results of an evaluation: a row for each episode, and the one metric that sums them up."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from compiler_gym.evaluation.rows import ENDLESS, EvaluationRow, package_of
from compiler_gym.util.statistics import clustered_interval, geometric_mean


@dataclass(frozen=True)
class Comparison:
    """The costs of one evaluation divided by those of another, for the programs of both.

    Attributes:
        ratio: The geometric mean over programs: below 1 if the first is better.
        interval: Its 95 % confidence interval over packages; None with a single one.
        better: The number of programs for which the first is better.
        worse: The number for which it is worse.
        programs: The number of all programs.
        compilers: The versions of the two compilers, if they are known and differ.
    """

    ratio: float
    interval: tuple[float, float] | None
    better: int
    worse: int
    programs: int
    compilers: tuple[str, ...] = ()

    @property
    def is_significant(self) -> bool:
        """True if the interval excludes that the two are equal."""
        return self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]

    def __str__(self) -> str:
        """Returns the comparison in a sentence."""
        verdict = "a difference" if self.is_significant else "no provable difference"
        low, high = self.interval or (0, math.inf)
        bounds = f" ({low:.1%} to {high:.1%})" if self.interval else ""
        return (
            f"{self.ratio:.1%}{bounds} of the other's cost: {verdict}; better for "
            f"{self.better} of {self.programs} programs, worse for {self.worse}"
            + (f"; compilers {' and '.join(self.compilers)}" if self.compilers else "")
        )


@dataclass(frozen=True)
class Evaluation:
    """The rows of an evaluation.

    The metric is the geometric mean, over programs and seeds, of the cost divided by the cost of
    the baseline: 1.0 is as good as the baseline, 0.95 leaves 5 % less. Nothing is clipped. Two
    kinds of programs are left out, and their number is printed: those that are known not to end,
    as a compiler may remove nearly all of them, and those of which the baseline leaves less than
    2 %.

    Attributes:
        env_id: The id of the environment.
        cost: The name of the cost, an observation space.
        baseline: The name of the baseline's cost.
        rows: One for each program and seed.
        failed: Why there is no row, by program: it cannot be compiled, or its episode failed.
        compiler_version: The version of the compiler; None if it is not known.
    """

    env_id: str
    cost: str
    baseline: str
    rows: tuple[EvaluationRow, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    compiler_version: str | None = None

    @cached_property
    def counted(self) -> tuple[EvaluationRow, ...]:
        """The rows that count."""
        endless = self._endless
        return tuple(
            row for row in self.rows if row.benchmark not in endless and not row.is_nearly_removed
        )

    @cached_property
    def nearly_removed(self) -> tuple[EvaluationRow, ...]:
        """The rows of programs that end, and of which the baseline leaves nearly nothing."""
        endless = self._endless
        return tuple(
            row for row in self.rows if row.is_nearly_removed and row.benchmark not in endless
        )

    @property
    def final(self) -> float:
        """The metric for the costs at the end of episodes."""
        return geometric_mean(row.final_ratio for row in self.counted)

    @property
    def best(self) -> float:
        """The metric for the lowest costs on the way."""
        return geometric_mean(row.best_ratio for row in self.counted)

    @property
    def smaller(self) -> int:
        """The number of episodes that end below the baseline."""
        return sum(row.final < row.baseline for row in self.counted)

    def interval(
        self, best: bool = False, over: Literal["seeds", "packages"] = "seeds"
    ) -> tuple[float, float] | None:
        """Returns a 95 % confidence interval of the metric, by Student's t of its logarithm.

        Args:
            best: Whether to take the lowest costs on the way.
            over: ``"seeds"`` says how much the result depends on chance in the policy, with the
                same programs. ``"packages"`` says how much it depends on the choice of programs:
                those of a package, or of a folder, are alike, and count as one draw.

        Returns:
            The bounds; None with one seed or package.

        Raises:
            ValueError: ``over`` is neither.
        """
        if over not in ("seeds", "packages"):
            raise ValueError(f"expected over to be 'seeds' or 'packages', got {over!r}")
        groups: dict[Any, list[float]] = defaultdict(list)
        if over == "seeds":
            for row in self.counted:
                groups[row.seed].append(row.log_ratio(best))
            return _exponential(
                clustered_interval([float(np.mean(each))] for each in groups.values())
            )
        for program, logarithm in _by_program(self.counted, best).items():
            groups[package_of(program)].append(logarithm)
        return _exponential(clustered_interval(groups.values()))

    def quantiles(self, *shares: float, best: bool = False) -> list[float]:
        """Returns the ratios below which these shares of episodes are: 0.5 for the median."""
        return [float(each) for each in np.quantile(self._ratios(best), shares)]

    def interquartile_mean(self, best: bool = False) -> float:
        """Returns the geometric mean of the middle half of the ratios of episodes.

        Few programs with extreme results do not move it (Agarwal et al., "Deep Reinforcement
        Learning at the Edge of the Statistical Precipice", NeurIPS 2021).
        """
        ratios = sorted(self._ratios(best))
        cut = len(ratios) // 4
        return geometric_mean(ratios[cut : len(ratios) - cut])

    def profile(self, ratios: Sequence[float], best: bool = False) -> list[float]:
        """Returns the performance profile: the share of episodes that reach each of the ratios."""
        reached = np.asarray(self._ratios(best))
        return [float((reached <= ratio).mean()) for ratio in ratios]

    def best_of(self, episodes: int, best: bool = False) -> float:
        """Returns the metric for the best of so many episodes of each program.

        It is the expectation over all ways to choose them from those that were played, so it has
        no luck of an order. ``best_of(1)`` is :attr:`final`, up to programs without some seeds.

        Raises:
            ValueError: A program has fewer episodes.
        """
        programs = defaultdict(list)
        for row in self.counted:
            programs[row.benchmark].append(row.log_ratio(best))
        fewest = min(map(len, programs.values()), default=0)
        if not 1 <= episodes <= fewest:
            raise ValueError(
                f"expected 1 to {fewest} episodes, as many as each program has, got {episodes}; "
                f"try seeds=range({episodes})"
            )
        means = [_expected_least(each, episodes) for each in programs.values()]
        return math.exp(math.fsum(means) / len(means))

    def compared_with(self, other: "Evaluation", best: bool = False) -> Comparison:
        """Compares with another evaluation of the same cost, program by program.

        A pair of costs of one program says more than two means do.

        Args:
            other: The other one.
            best: Whether to take the lowest costs on the way.

        Raises:
            ValueError: The two have different costs or programs.
        """
        if (self.cost, self.baseline) != (other.cost, other.baseline):
            raise ValueError(
                f"expected an evaluation of {self.cost} by {self.baseline}, got one of "
                f"{other.cost} by {other.baseline}"
            )
        ours, theirs = (_by_program(each.counted, best) for each in (self, other))
        if ours.keys() != theirs.keys() or not ours:
            only = sorted(ours.keys() ^ theirs.keys())
            raise ValueError(
                "expected evaluations of the same programs, got "
                + (f"{len(only)} that only one has, such as {only[0]}" if only else "none")
            )
        differences = {program: ours[program] - theirs[program] for program in ours}
        versions = [str(each.compiler_version) for each in (self, other) if each.compiler_version]
        groups = defaultdict(list)
        for program, difference in differences.items():
            groups[package_of(program)].append(difference)
        return Comparison(
            ratio=math.exp(math.fsum(differences.values()) / len(differences)),
            interval=_exponential(clustered_interval(groups.values())),
            better=sum(each < 0 for each in differences.values()),
            worse=sum(each > 0 for each in differences.values()),
            programs=len(differences),
            compilers=tuple(versions) if len(set(versions)) > 1 else (),
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it as plain data, for JSON."""
        return {
            "env": self.env_id,
            "cost": self.cost,
            "baseline": self.baseline,
            "compiler_version": self.compiler_version,
            "final": self.final,
            "best": self.best,
            "interval": self.interval(),
            "interval_over_packages": self.interval(over="packages"),
            "failed": dict(self.failed),
            "rows": [asdict(row) for row in self.rows],
        }

    def save(self, path: str | Path) -> None:
        """Writes it to a JSON file: :meth:`as_dict`.

        Raises:
            OSError: The file cannot be written.
            TypeError: An action is no plain data.
        """
        Path(path).write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Evaluation":
        """Reads one from a file that :meth:`save` has written.

        Raises:
            OSError: The file cannot be read.
            ValueError: It has something else.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            rows = tuple(map(_row_of, data["rows"]))
            if len({(row.benchmark, row.seed) for row in rows}) < len(rows):
                raise ValueError("two rows are of the same program and seed")
            names = data["env"], data["cost"], data["baseline"]
            return cls(*names, rows, data["failed"], data.get("compiler_version"))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"expected a saved evaluation, got {path}: {error}") from error

    @cached_property
    def _endless(self) -> set[str]:
        return {row.benchmark for row in self.rows if row.output == ENDLESS}

    def _ratios(self, best: bool) -> list[float]:
        """Returns the ratio of each episode that counts.

        Raises:
            ValueError: There are none.
        """
        if not self.counted:
            raise ValueError("expected an evaluation with episodes that count, got none")
        return [row.ratio(best) for row in self.counted]

    def _intervals(self) -> str:
        known = [
            f"{interval[0]:.1%} to {interval[1]:.1%} by {what}"
            for what, interval in (
                ("seed", self.interval()),
                ("package", self.interval(over="packages")),
            )
            if interval
        ]
        return f" ({'; '.join(known)})" if known else ""

    @property
    def notes(self) -> str:
        """The programs that the metric leaves out, as the end of a sentence; empty if none."""
        notes = ""
        endless = len({row.benchmark for row in self.rows} & self._endless)
        if endless:
            notes += f"; left out: {endless} programs that do not end in time"
        if self.nearly_removed:
            programs = len({row.benchmark for row in self.nearly_removed})
            ratio = geometric_mean(row.final_ratio for row in self.nearly_removed)
            notes += f"; apart: {programs} programs that the baseline nearly removes, {ratio:.1%}"
        if self.failed:
            notes += f"; {len(self.failed)} programs failed"
        return notes

    def __str__(self) -> str:
        """Returns the metric in a sentence."""
        if not self.counted:
            return f"no episode counts{self.notes}"
        return (
            f"{self.final:.1%} of {self.baseline} at the end{self._intervals()}, "
            f"{self.best:.1%} at best on the way; "
            f"{self.smaller} of {len(self.counted)} episodes end below it{self.notes}"
        )

    def _repr_html_(self) -> str:
        """Returns a table for notebooks."""
        head = "".join(
            f"<th>{name}</th>" for name in ("program", "seed", "cost", self.baseline, "share")
        )
        body = "".join(
            f"<tr><td>{escape(row.benchmark)}</td><td>{row.seed}</td><td>{row.final:g}</td>"
            f"<td>{row.baseline:g}</td><td>{row.final_ratio:.1%}</td></tr>"
            for row in self.rows
        )
        return f"<p>{escape(str(self))}</p><table><tr>{head}</tr>{body}</table>"


def _row_of(data: Mapping[str, Any]) -> EvaluationRow:
    """Returns a row that was saved, which a person may have changed.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    row = EvaluationRow(**{**data, "actions": tuple(data["actions"])})
    costs = (row.unoptimised, row.baseline, row.final, row.best)
    kinds = ((row.benchmark, str), (row.seed, int), *((cost, int | float) for cost in costs))
    for value, kind in kinds:
        if not isinstance(value, kind):
            raise ValueError(f"a row has {value!r} where {kind} is expected")
    return row


def _by_program(rows: Sequence[EvaluationRow], best: bool) -> dict[str, float]:
    """Returns the mean logarithm of the ratios of each program, over its seeds."""
    programs = defaultdict(list)
    for row in rows:
        programs[row.benchmark].append(row.log_ratio(best))
    return {program: math.fsum(each) / len(each) for program, each in programs.items()}


def _expected_least(values: Sequence[float], draws: int) -> float:
    """Returns the expectation of the least of some of the values, drawn without replacement."""
    total = math.comb(len(values), draws)
    return math.fsum(
        value * math.comb(len(values) - rank - 1, draws - 1) / total
        for rank, value in enumerate(sorted(values))
    )


def _exponential(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
