"""The MLIR environment: the loops of one kernel are transformed, and it is measured."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler_gym.envs.mlir.mlir_env import MlirEnv

__all__ = ["MlirEnv"]


if not TYPE_CHECKING:  # Type checkers would take any name for one that is there.

    def __getattr__(name: str) -> Any:
        # Loaded when first used: registering the environments imports this package.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from compiler_gym.envs.mlir import mlir_env

        return getattr(mlir_env, name)
