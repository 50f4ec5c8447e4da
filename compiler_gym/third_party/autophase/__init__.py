"""The Autophase features: their names, from ``compiler_gym.envs.llvm.specs``, and their number."""

from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES

__all__ = ["AUTOPHASE_FEATURE_DIM", "AUTOPHASE_FEATURE_NAMES"]

AUTOPHASE_FEATURE_DIM = len(AUTOPHASE_FEATURE_NAMES)
"""The length of an Autophase observation."""
