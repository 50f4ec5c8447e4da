"""Makes gym 0.26 work with environments whose steps have four results.

``gym.make()`` and programs put wrappers of gym around whatever environment there is, and these
expect five results of a step, and spaces of gym's own classes. Where the environment is one of
ours, they get what ``compiler_gym.wrappers`` has in their place; nothing changes for others. That
is loaded when it is needed: whoever imports gym need not wait for it.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_CLASSIC = "compiler_gym.wrappers.classic_gym"

# Classes of gym, and what is made instead of their objects.
_STAND_INS = {
    "AutoResetWrapper": (_CLASSIC, "AutoReset"),
    "PassiveEnvChecker": (_CLASSIC, "refuse_checker"),
    "TimeLimit": ("compiler_gym.wrappers.time_limit", "TimeLimit"),
}


class ClassicEntryPoint:
    """What gym is to call for an environment: it may add a ``render_mode``.

    Args:
        load: Returns the function or class to call without it.
    """

    def __init__(self, load: Callable[[], Callable[..., Any]]):
        self._load = load

    @property
    def metadata(self) -> Any:
        """That of the environment's class, where gym looks up the render modes."""
        return getattr(self._load(), "metadata")  # noqa: B009 - a function may have none.

    def __call__(self, render_mode: str | None = None, **kwargs: Any) -> Any:
        """Makes the environment. Raises ValueError if there is no such render mode."""
        env = self._load()(**kwargs)
        if render_mode is None:
            return env
        try:
            return importlib.import_module(_CLASSIC).RenderMode(env, render_mode)
        except BaseException:
            env.close()
            raise


def adapt(registration: ModuleType) -> None:
    """Adapts the classes that are in ``gym.envs.registration``; again does nothing."""
    for name, stand_in in _STAND_INS.items():
        wrapper = getattr(registration, name, None)
        if wrapper is not None and "__new__" not in vars(wrapper):
            wrapper.__new__ = _new_stand_in(*stand_in)
    compatibility = getattr(registration, "EnvCompatibility", None)
    if compatibility is not None and compatibility.__init__.__module__ != __name__:
        compatibility.__init__ = _with_spaces_of_gym(compatibility.__init__)


def _is_ours(env: Any) -> bool:
    # If the module is not there yet, neither is such an environment.
    module = sys.modules.get("compiler_gym.envs.compiler_env")
    return module is not None and isinstance(env, module.CompilerEnv)


def _new_stand_in(module: str, name: str) -> Callable[..., Any]:
    def new(cls: type, env: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_ours(env):
            return getattr(importlib.import_module(module), name)(env, *args, **kwargs)
        return object.__new__(cls)

    return new


def _with_spaces_of_gym(former: Callable[..., None]) -> Callable[..., None]:
    """Makes the spaces of environments of five results those that the wrappers of gym know."""

    def init(self: Any, old_env: Any, *args: Any, **kwargs: Any) -> None:
        former(self, old_env, *args, **kwargs)
        if _is_ours(old_env):
            convert = importlib.import_module("compiler_gym.spaces.classic_gym").as_classic_gym
            self.observation_space = convert(old_env.observation_space)
            self.action_space = convert(old_env.action_space)

    return init
