"""The names of the Autophase features, which are in ``compiler_gym.envs.llvm.specs``."""

from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES

__all__ = ["AUTOPHASE_FEATURE_NAMES"]
