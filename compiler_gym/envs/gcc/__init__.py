"""The GCC environment: the options of a GCC are the actions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler_gym.envs.gcc.gcc import DEFAULT_GCC, Gcc, get_gcc
    from compiler_gym.envs.gcc.gcc_env import GccEnv
    from compiler_gym.envs.gcc.options import (
        GccFlagAlignOption,
        GccFlagEnumOption,
        GccFlagIntOption,
        GccFlagOption,
        GccOOption,
        GccParamEnumOption,
        GccParamIntOption,
        Option,
    )
    from compiler_gym.envs.gcc.spec import GccSpec, get_spec

__all__ = [
    "DEFAULT_GCC",
    "Gcc",
    "GccEnv",
    "GccFlagAlignOption",
    "GccFlagEnumOption",
    "GccFlagIntOption",
    "GccFlagOption",
    "GccOOption",
    "GccParamEnumOption",
    "GccParamIntOption",
    "GccSpec",
    "Option",
    "get_gcc",
    "get_spec",
]

# Loaded when first used: registering the environments imports this package.
_MODULES = {
    "DEFAULT_GCC": "gcc",
    "Gcc": "gcc",
    "GccEnv": "gcc_env",
    "GccSpec": "spec",
    "get_gcc": "gcc",
    "get_spec": "spec",
}


if not TYPE_CHECKING:  # Type checkers would take any name for one that is there.

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'options')}"), name)
