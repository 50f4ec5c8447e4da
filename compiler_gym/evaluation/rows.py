"""The result of one episode of a policy."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

EPISODE_STEPS = 45
"""The default limit of steps, that of the shipped policies."""

# The check that the program of an episode still prints the same.

RIGHT, WRONG, NOT_CHECKED, ENDLESS = "right", "WRONG", "not checked", "no end"


def output_of(env: "CompilerEnv") -> str:
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


def cost_ratio(cost: float, baseline: float) -> float:
    """Returns a cost as a share of another one. A baseline of nothing counts as 1.

    Nothing is as much as nothing: an object without code is not smaller than without passes.
    """
    return 1.0 if cost == baseline else cost / (baseline or 1)


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
        actions: The actions of the episode; their names if the policy has changed the action space.
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
        return cost_ratio(self.final, self.baseline)

    @property
    def best_ratio(self) -> float:
        """The lowest cost on the way, divided by that of the baseline."""
        return cost_ratio(self.best, self.baseline)

    def ratio(self, best: bool) -> float:
        """The cost at the end, or the lowest one, divided by that of the baseline."""
        return self.best_ratio if best else self.final_ratio

    def log_ratio(self, best: bool) -> float:
        """The logarithm of that, also of a program that is gone entirely."""
        return math.log(max(self.ratio(best), 1e-9))

    @property
    def is_nearly_removed(self) -> bool:
        """True if the baseline leaves so little of the program that a ratio says nothing."""
        return self.baseline < _NEARLY_REMOVED * self.unoptimised


# A baseline that leaves less than this share of a cost has removed the program.
_NEARLY_REMOVED = 0.02


def package_of(uri: str) -> str:
    """Returns what the URI of a program has in common with programs that are likely alike.

    That is the package of real software, or the folder of a file. Other programs are alone.
    """
    scheme, _, rest = uri.partition("://")
    dataset, *path = rest.split("/")
    if len(path) < 2:
        return uri
    is_file = scheme == "file" or dataset == "file-v0"
    return uri.rpartition("/")[0] if is_file else f"{scheme}://{dataset}/{path[0]}"
