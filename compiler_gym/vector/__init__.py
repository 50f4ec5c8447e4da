"""Vector environments: many environments on one service, stepped at once by one thread."""

from compiler_gym.vector.vector_env import CompilerVectorEnv

__all__ = ["CompilerVectorEnv"]
