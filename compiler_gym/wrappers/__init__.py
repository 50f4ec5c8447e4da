"""Environments around environments."""

from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper
from compiler_gym.wrappers.runtime import RuntimePointEstimateReward

__all__ = ["CompilerEnvWrapper", "RuntimePointEstimateReward"]
