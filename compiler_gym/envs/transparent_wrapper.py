"""What makes the wrappers of gymnasium transparent."""

import copy
from typing import Any

import gymnasium

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.util.settings import is_setting


class TransparentWrapper(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """A :class:`GymnasiumEnv` behind wrappers that does not look as if it were.

    What ``gymnasium.make()`` returns if it has put wrappers around the environment. Attributes are
    read and set as those of the :class:`GymnasiumEnv`; forks are behind wrappers in the same state.
    The wrappers notice ``step()``, but not ``multistep()``.

    Args:
        env: The outermost of the wrappers.
    """

    def __init__(self, env: gymnasium.Env):
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)

    def fork(self) -> "TransparentWrapper":
        """Returns an independent environment in exactly the state of this one."""
        return copy.deepcopy(self)

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return self.env.get_wrapper_attr(name)

    def __setattr__(self, name: str, value: Any) -> None:
        adapter = self.unwrapped if "env" in vars(self) else None
        if isinstance(adapter, GymnasiumEnv) and (
            is_setting(adapter, name) or is_setting(adapter.compiler_env, name)
        ):
            setattr(adapter, name, value)
        else:
            super().__setattr__(name, value)


def made_transparent(env: gymnasium.Env) -> gymnasium.Env:
    """Returns a :class:`GymnasiumEnv` as it is, and others inside of a transparent wrapper."""
    return env if isinstance(env, GymnasiumEnv) else TransparentWrapper(env)
