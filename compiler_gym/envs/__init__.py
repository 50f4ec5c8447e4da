"""Environments."""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names
from compiler_gym.util.registration import COMPILER_GYM_ENVS

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv
    from compiler_gym.envs.gcc.gcc_env import GccEnv
    from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
    from compiler_gym.envs.llvm.llvm_env import LlvmEnv
    from compiler_gym.envs.mlir.mlir_env import MlirEnv

__all__ = ["COMPILER_GYM_ENVS", "CompilerEnv", "GccEnv", "GymnasiumEnv", "LlvmEnv", "MlirEnv"]

# Loaded when first used, as are the packages.
_PACKAGES = ("gcc", "llvm", "mlir")
_MODULES = {
    "CompilerEnv": ".compiler_env",
    "GccEnv": ".gcc.gcc_env",
    "GymnasiumEnv": ".gymnasium_adapter",
    "LlvmEnv": ".llvm.llvm_env",
    "MlirEnv": ".mlir.mlir_env",
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES, _PACKAGES)
