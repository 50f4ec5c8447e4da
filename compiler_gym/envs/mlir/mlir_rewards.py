"""The reward of the MLIR environment: how much faster the kernel has become."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler_gym.datasets import Benchmark
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationView


class SpeedUpReward(Reward):
    """By how much a step raises the speed-up, which is 1 when an episode begins.

    The speed-up is the median of ``RuntimeOfStart`` divided by that of ``Runtime``; the former is
    measured with the first step of an episode. The rewards of an episode add up to its speed-up
    less 1.
    """

    def __init__(self) -> None:
        super().__init__(
            name="SpeedUp",
            observation_spaces=["Runtime"],
            default_value=0,
            default_negates_returns=True,
            deterministic=False,
            platform_dependent=True,
        )
        self.starting_runtime: float | None = None
        self.previous_speedup = 1.0

    def reset(self, benchmark: Benchmark, observation_view: ObservationView) -> None:
        """Starts an episode."""
        del benchmark, observation_view
        self.starting_runtime = None
        self.previous_speedup = 1.0

    def update(
        self,
        actions: Sequence[Any],
        observations: Sequence[Any],
        observation_view: ObservationView,
    ) -> float:
        """Returns the reward of a step.

        Args:
            actions: The actions of the step.
            observations: Seconds of runs after the step, as the only element.
            observation_view: Where the time at the start is asked for.

        Raises:
            ServiceError: If that cannot be measured.
        """
        del actions
        if self.starting_runtime is None:
            self.starting_runtime = float(np.median(observation_view["RuntimeOfStart"]))
        speedup = self.starting_runtime / float(np.median(observations[0]))
        reward = speedup - self.previous_speedup
        self.previous_speedup = speedup
        return reward


def make_mlir_rewards() -> list[Reward]:
    """Makes the rewards."""
    return [SpeedUpReward()]
