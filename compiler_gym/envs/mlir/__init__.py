"""The MLIR environment: the loops of one kernel are transformed, and it is measured."""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.envs.mlir.mlir_env import MlirEnv

__all__ = ["MlirEnv"]

if not TYPE_CHECKING:
    # Registering the environments imports this package.
    __getattr__ = lazy_names(__name__, {"MlirEnv": ".mlir_env"})
