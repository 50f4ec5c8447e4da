"""Import path of 0.2.5 for these classes."""

from compiler_gym.envs.llvm.rewards.cost_rewards import (
    BaselineImprovementNormalizedReward,
    CostFunctionReward,
    NormalizedReward,
)

__all__ = ["BaselineImprovementNormalizedReward", "CostFunctionReward", "NormalizedReward"]
