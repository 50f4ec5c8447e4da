"""Results of an evaluation: a row for each episode, and the one metric that sums them up."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.util.statistics import bootstrap_interval, geometric_mean

# The check that the program of an episode still prints the same.

RIGHT, WRONG, NOT_CHECKED, ENDLESS = "right", "WRONG", "not checked", "no end"


def output_of(env: CompilerEnv) -> str:
    """Runs the program of an episode before and after its actions, if it can be run.

    Returns:
        One of :data:`RIGHT`, :data:`WRONG`, :data:`NOT_CHECKED` and :data:`ENDLESS`. The last is
        that of a program that exceeds the time limit before any action.
    """
    if env.benchmark is None or not env.benchmark.running_callbacks():
        return NOT_CHECKED
    types = [error.type for error in env.validate().errors]
    if "Execution timeout of the unoptimised program" in types:
        return ENDLESS
    if any(type.endswith("of the unoptimised program") for type in types):
        return NOT_CHECKED
    return WRONG if types else RIGHT


@dataclass(frozen=True)
class EvaluationRow:
    """One episode of a policy.

    Attributes:
        benchmark: The URI of the program.
        seed: The seed of the episode.
        unoptimised: The cost of the program as it was, in the unit of the cost.
        baseline: The cost after the baseline's pipeline, such as ``-Oz``.
        final: The cost at the end of the episode.
        best: The lowest cost on the way, which needs to be observed in order to stop there.
        actions: The actions of the episode.
        stopped: Empty if the policy or the limit of steps ended the episode, else the reason.
        output: ``"right"`` or ``"WRONG"`` if the program was run and its output compared,
            ``"no end"`` if it exceeds the time limit without any action, else ``"not checked"``.
    """

    benchmark: str
    seed: int
    unoptimised: float
    baseline: float
    final: float
    best: float
    actions: tuple[Any, ...]
    stopped: str = ""
    output: str = NOT_CHECKED

    @property
    def final_ratio(self) -> float:
        """The cost at the end, divided by that of the baseline. Lower is better."""
        return self.final / max(self.baseline, 1)

    @property
    def best_ratio(self) -> float:
        """The lowest cost on the way, divided by that of the baseline."""
        return self.best / max(self.baseline, 1)


@dataclass(frozen=True)
class Evaluation:
    """The rows of an evaluation.

    The metric is the geometric mean, over programs and seeds, of the cost divided by the cost of
    the baseline: 1.0 is as good as the baseline, 0.95 leaves 5 % less. Nothing is clipped. Programs
    that are known not to end are left out, as a compiler may remove nearly all of them.

    Attributes:
        env_id: The id of the environment.
        cost: The name of the cost, an observation space.
        baseline: The name of the baseline's cost.
        rows: One for each program and seed.
    """

    env_id: str
    cost: str
    baseline: str
    rows: tuple[EvaluationRow, ...]

    @cached_property
    def counted(self) -> tuple[EvaluationRow, ...]:
        """The rows that count: those of programs that end, as far as that is known."""
        endless = {row.benchmark for row in self.rows if row.output == ENDLESS}
        return tuple(row for row in self.rows if row.benchmark not in endless)

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

    def interval(self, best: bool = False) -> tuple[float, float] | None:
        """Returns a 95 % confidence interval of the metric over seeds; None with one seed.

        The percentile bootstrap draws seeds, all of which have the same programs. It says how much
        the result depends on chance in the policy, not on the choice of programs.

        Args:
            best: Whether to take the lowest costs on the way.
        """
        logarithms = [np.log(each) for each in self._by_seed(best)]
        if len(logarithms) < 2:
            return None
        low, high = bootstrap_interval(logarithms, np.random.default_rng(0))
        return float(np.exp(low)), float(np.exp(high))

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it as plain data, for JSON."""
        return {
            "env": self.env_id,
            "cost": self.cost,
            "baseline": self.baseline,
            "final": self.final,
            "best": self.best,
            "interval": self.interval(),
            "rows": [asdict(row) for row in self.rows],
        }

    def _by_seed(self, best: bool) -> Sequence[float]:
        """Returns the metric of each seed."""
        seeds = sorted({row.seed for row in self.counted})
        return [
            geometric_mean(
                row.best_ratio if best else row.final_ratio
                for row in self.counted
                if row.seed == seed
            )
            for seed in seeds
        ]

    def __str__(self) -> str:
        """Returns the metric in a sentence."""
        left_out = len(self.rows) - len(self.counted)
        note = f"; {left_out} left out that do not end in time" if left_out else ""
        if not self.counted:
            return f"no episode counts{note}"
        interval = self.interval()
        bounds = f" [{interval[0]:.1%}, {interval[1]:.1%}]" if interval else ""
        return (
            f"{self.final:.1%}{bounds} of {self.baseline}, {self.best:.1%} at best on the way; "
            f"{self.smaller} of {len(self.counted)} episodes end below it{note}"
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
