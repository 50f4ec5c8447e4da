"""A clear error of Stable-Baselines3 for environments whose steps have four results.

Stable-Baselines3 takes environments of gymnasium. For others it names neither the way to convert
ours nor, with gym installed, a library that would. This module does not import it.
"""

import sys
from types import ModuleType
from typing import Any

_CONVERTER = "_patch_env"


def on_import(module: ModuleType) -> None:
    """Makes the converter refuse environments of ours, wherever it was imported to.

    Args:
        module: ``stable_baselines3.common.vec_env.patch_gym``, whose function converts environments
            for all algorithms.
    """
    convert = getattr(module, _CONVERTER, None)
    if convert is None:  # Another version.
        return

    def convert_or_refuse(env: Any) -> Any:
        _refuse_classic(env)
        return convert(env)

    for name, each in list(sys.modules.items()):
        if name.startswith("stable_baselines3.") and vars(each).get(_CONVERTER) is convert:
            setattr(each, _CONVERTER, convert_or_refuse)


def _refuse_classic(env: Any) -> None:
    # Before this module is imported, there is no environment of ours.
    ours = sys.modules.get("compiler_gym.envs.compiler_env")
    if ours is not None and isinstance(env, ours.CompilerEnv):
        raise TypeError(
            f"Stable-Baselines3 expects an environment of gymnasium, got the classic {env!r}. "
            "Use compiler_gym.envs.GymnasiumEnv(env), or make it by gymnasium.make()"
        )
