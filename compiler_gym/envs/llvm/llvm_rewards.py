"""The reward spaces of the LLVM environments: reductions of a cost of the program."""

from collections.abc import Sequence
from typing import Any

from compiler_gym.datasets import Benchmark
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationView

# Bounds the memory use with a million programs.
_MAX_KNOWN = 10_000

# The minimum change by a baseline, as a share of the unoptimised cost, to normalise rewards by.
CLEAR_CHANGE = 0.1


class CostFunctionReward(Reward):
    """The reduction of a cost by a step: previous cost - cost.

    The previous cost is at first that of the unoptimised program, so that the rewards of an episode
    add up to the total reduction, however late in the episode a reward is first asked for.

    An object is for the episodes of one environment at a time. It may go from one to another, which
    may have another compiler.

    Args:
        name: The name of the reward space.
        cost_function: The observation space of the cost; its values are numbers, lower is better.
        init_cost_function: The observation space of the cost of the unoptimised program.
        **kwargs: Arguments of :class:`compiler_gym.spaces.Reward`.

    Attributes:
        previous_cost: The cost before the next step; None until it is needed.
    """

    copies_are_shallow = True

    def __init__(self, name: str, cost_function: str, init_cost_function: str, **kwargs: Any):
        super().__init__(name=name, observation_spaces=[cost_function], **kwargs)
        self.cost_function = cost_function
        self.init_cost_function = init_cost_function
        self.previous_cost: float | None = None
        self._benchmark: Benchmark | None = None
        self._unoptimised_cost: float | None = None
        # That of the observation view of the last reset.
        self._family: int | None = None
        # Costs of unoptimised programs, by what is observed and the digest of the program. Copies
        # share them. None once a session parameter was sent, which may change them.
        self._known: dict[tuple[str, bytes], float] | None = {}

    def reset(self, benchmark: Benchmark, observation_view: ObservationView) -> None:
        """Starts an episode. Costs of the same benchmark stay cached."""
        self.previous_cost = None
        if self._family != observation_view.family:
            if self._family is not None:  # Another compiler may have other costs.
                self.parameters_changed()
                self._known = {}
            self._family = observation_view.family
        if self._benchmark is not benchmark:
            # The message tells apart two programs of the same name.
            if self._benchmark is None or not self._benchmark.has_message_of(benchmark):
                self.forget_costs()
            self._benchmark = benchmark

    def parameters_changed(self) -> None:
        """Forgets the costs of the benchmark, now and at the next episode.

        That begins with the parameters which are sent to each session again, and no others.
        """
        self.forget_costs()
        self._benchmark = None
        self._known = None

    def forget_costs(self) -> None:
        """Clears the cached costs of the benchmark."""
        self._unoptimised_cost = None

    def update(
        self,
        actions: Sequence[Any],
        observations: Sequence[Any],
        observation_view: ObservationView,
    ) -> float:
        """Returns the reward of a step.

        Args:
            actions: The actions of the step.
            observations: The cost after the step, as the only element.
            observation_view: Where the cost of the unoptimised program is asked for.

        Raises:
            ServiceError: If that cost cannot be computed.
            ValueError: If another environment has begun an episode with the same object.
        """
        del actions
        if self._family != observation_view.family:
            raise ValueError(
                f"expected a reward object for each environment, got {self.name} in two; "
                "make another for the second"
            )
        cost = float(observations[0])
        if self.previous_cost is None:
            self.previous_cost = self.unoptimised_cost(observation_view)
        reward = self.previous_cost - cost
        self.previous_cost = cost
        return reward

    def known_costs(self) -> str:
        """Returns the cost after the last step, in words; empty before the first."""
        if self.previous_cost is None:
            return ""
        return f"{self.cost_function} {self.previous_cost:.0f}"

    def unoptimised_cost(self, observation_view: ObservationView) -> float:
        """Returns the cost of the unoptimised program. It is cached for each benchmark."""
        if self._unoptimised_cost is None:
            self._unoptimised_cost = self.first_cost(self.init_cost_function, observation_view)
        return self._unoptimised_cost

    def first_cost(self, name: str, observation_view: ObservationView) -> float:
        """Returns a cost that only depends on the unoptimised program, and remembers it.

        Args:
            name: The observation space of the cost.
            observation_view: Where it is asked for, unless it is known.

        Raises:
            ServiceError: If the cost cannot be computed.
        """
        known = self._known
        if known is None or self._benchmark is None:
            return float(observation_view[name])
        key = name, self._benchmark.digest()
        cost = known.get(key)
        if cost is None:
            cost = float(observation_view[name])
            if len(known) >= _MAX_KNOWN:
                known.clear()
            known[key] = cost
        return cost


class NormalizedReward(CostFunctionReward):
    """The reduction of a cost by a step, as a share of the cost of the unoptimised program.

    A program whose cost is zero counts as if it were one.

    Attributes:
        cost_norm: The cost that the reduction is divided by; None until it is needed.
    """

    copies_are_shallow = True

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.cost_norm: float | None = None

    def forget_costs(self) -> None:
        """Forgets the norm, too."""
        super().forget_costs()
        self.cost_norm = None

    def update(
        self,
        actions: Sequence[Any],
        observations: Sequence[Any],
        observation_view: ObservationView,
    ) -> float:
        """Returns the reward of a step."""
        if self.cost_norm is None:
            self.cost_norm = max(self.get_cost_norm(observation_view), 1.0)
        return super().update(actions, observations, observation_view) / self.cost_norm

    def get_cost_norm(self, observation_view: ObservationView) -> float:
        """Returns the divisor of the reduction; less than one counts as one."""
        return self.unoptimised_cost(observation_view)


class BaselineImprovementNormalizedReward(NormalizedReward):
    """The reduction of a cost by a step, as a share of what a baseline pipeline reduces.

    The reward is (previous cost - cost) / (cost at O0 - cost of the baseline). Rewards that add up
    to one equal the baseline; more beats it.

    That needs a baseline that is clearly better than no optimisation, and some programs have none:
    O3 often makes a program larger, and so does Oz where functions must be inlined. The share is
    then of what the baseline changes, for better or worse, and of at least a tenth of the
    unoptimised cost: the divisor is ``max(abs(cost at O0 - cost of the baseline), cost at O0 /
    10)``, so that the reductions of a whole program never add up to more than ten.

    Args:
        baseline_cost_function: The observation space of the cost after the baseline pipeline.
        **kwargs: Arguments of :class:`CostFunctionReward`.

    Attributes:
        baseline_cost: The cost after the baseline pipeline; None until it is needed.
    """

    copies_are_shallow = True

    def __init__(self, baseline_cost_function: str, **kwargs: Any):
        super().__init__(**kwargs)
        self.baseline_cost_function = baseline_cost_function
        self.baseline_cost: float | None = None

    def known_costs(self) -> str:
        """Returns the cost after the last step, and that of the baseline, in words."""
        costs = super().known_costs()
        if not costs or self.cost_norm is None or not self.baseline_cost:
            return costs
        level = self.baseline_cost_function[-2:]
        share = (self.previous_cost or 0) / self.baseline_cost
        return f"{costs}, {share:.1%} of -{level} ({self.baseline_cost:.0f})"

    def get_cost_norm(self, observation_view: ObservationView) -> float:
        """Returns by how much the baseline pipeline changes the cost, or a tenth of the cost."""
        unoptimised = super().get_cost_norm(observation_view)
        self.baseline_cost = self.first_cost(self.baseline_cost_function, observation_view)
        return max(abs(unoptimised - self.baseline_cost), CLEAR_CHANGE * unoptimised)


def make_llvm_rewards() -> list[Reward]:
    """Makes the sixteen reward spaces: four of each of four costs.

    The costs are the number of IR instructions, the size of the code section of the object file,
    that of the linked executable, and a static estimate of the cycles of a run. For each there is
    the plain reduction, the reduction normalised by the unoptimised program (``Norm``), and by
    what ``-O3`` and ``-Oz`` reduce.
    """
    return [
        *_rewards_of_cost("IrInstructionCount", "IrInstructionCount", "IrInstructionCount", False),
        *_rewards_of_cost("ObjectTextSizeBytes", "ObjectTextSizeBytes", "ObjectTextSize", True),
        *_rewards_of_cost("TextSizeBytes", "TextSizeBytes", "TextSize", True),
        *_rewards_of_cost("CyclesEstimate", "CyclesEstimate", "CyclesEstimate", False),
    ]


def _rewards_of_cost(
    name: str, cost: str, baseline_prefix: str, platform_dependent: bool
) -> list[Reward]:
    common: dict[str, Any] = {
        "cost_function": cost,
        "init_cost_function": f"{baseline_prefix}O0",
        "default_negates_returns": True,
        "deterministic": True,
        "platform_dependent": platform_dependent,
    }
    baselines = [
        BaselineImprovementNormalizedReward(
            name=f"{baseline_prefix}{level}",
            baseline_cost_function=f"{baseline_prefix}{level}",
            success_threshold=1,
            **common,
        )
        for level in ("O3", "Oz")
    ]
    return [
        CostFunctionReward(name=name, **common),
        NormalizedReward(name=f"{baseline_prefix}Norm", max=1, **common),
        *baselines,
    ]
