"""The path by which programs written for former releases import these classes."""

from compiler_gym.envs.llvm.rewards.cost_rewards import (
    BaselineImprovementNormalizedReward,
    CostFunctionReward,
    NormalizedReward,
)

__all__ = ["BaselineImprovementNormalizedReward", "CostFunctionReward", "NormalizedReward"]
