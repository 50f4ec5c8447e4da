"""The GCC environment: the options of a GCC are the actions."""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

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
    **dict.fromkeys(__all__, ".options"),
    "DEFAULT_GCC": ".gcc",
    "Gcc": ".gcc",
    "GccEnv": ".gcc_env",
    "GccSpec": ".spec",
    "get_gcc": ".gcc",
    "get_spec": ".spec",
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
