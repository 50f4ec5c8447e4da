"""Wrappers that shape rewards for learners."""

import math
from typing import Any

from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.spaces import Reward
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper
from compiler_gym.wrappers.core import RewardWrapper


class _LogReward(Reward):
    """The logarithm of a cost before a step, divided by the cost after it."""

    copies_are_shallow = True

    def __init__(self, cost: str):
        super().__init__(name=f"{cost}Log", observation_spaces=[cost], default_negates_returns=True)
        self._before = 1.0

    @override
    def reset(self, benchmark: Any, observation_view: Any) -> None:
        self._before = _positive(observation_view[self.observation_spaces[0]])

    @override
    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        after = _positive(observations[0])
        reward = math.log(self._before / after)
        self._before = after
        return reward


def _positive(cost: Any) -> float:
    return max(float(cost), 1.0)  # Programs of size 0 have a finite reward, too.


class LogReward(CompilerEnvWrapper):
    """Rewards the logarithm of a cost before a step, divided by the cost after it.

    The rewards of an episode add up to the logarithm of the whole ratio. So small and large
    programs count alike, and the mean over programs is that of their geometric mean. A cost of 0
    counts as 1.

    It adds the reward ``IrInstructionCountLog``, or that of another cost, and selects it.

    Args:
        env: The environment.
        cost: The name of the observation, a number.
    """

    def __init__(self, env: CompilerEnv, cost: str = "IrInstructionCount"):
        super().__init__(env)
        env.reward_space = _LogReward(cost)


class BestSoFar(RewardWrapper):
    """Rewards only what the episode has not reached before.

    The reward of a step is how much it raises the largest sum of rewards so far, from 0 on. The
    rewards of an episode then add up to its best state, which is what counts if the best of all
    states is kept. A step that has to make the program larger first costs nothing.

    Args:
        env: The environment.
    """

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        self._sum = self._best = 0.0

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self._sum = self._best = 0.0
        return super().reset(*args, **kwargs)

    @override
    def convert_reward(self, reward: float) -> float:
        self._sum += reward
        gain = max(self._sum - self._best, 0.0)
        self._best += gain
        return gain
