"""The base of wrappers."""

from collections.abc import Iterable
from typing import Any

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec


class CompilerEnvWrapper:
    """An environment that is another one, but for what subclasses override.

    Whatever a subclass does not define is that of the wrapped environment, to be read and to be
    set. It counts as a :class:`CompilerEnv`. To change what happens in a step override
    :meth:`multistep`, which :meth:`step` calls.

    Attributes:
        env: The wrapped environment.
    """

    env: CompilerEnv

    def __init__(self, env: CompilerEnv):
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("__"):  # Not set yet, e.g. while being unpickled.
            raise AttributeError(name)
        return getattr(self.env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name == "env" or hasattr(type(self), name) or name in self.__dict__
        if not is_own and hasattr(self.env, name):
            setattr(self.env, name, value)
        else:
            object.__setattr__(self, name, value)

    def step(
        self,
        action: Any,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        timeout: float = 300,
        **kwargs: Any,
    ) -> StepResult:
        """As :meth:`CompilerEnv.step`, by way of :meth:`multistep`."""
        return self.multistep(
            [action], observation_spaces, reward_spaces, timeout=timeout, **kwargs
        )

    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        timeout: float = 300,
        **kwargs: Any,
    ) -> StepResult:
        """As :meth:`CompilerEnv.multistep`."""
        return self.env.multistep(
            actions, observation_spaces, reward_spaces, timeout=timeout, **kwargs
        )

    def fork(self) -> "CompilerEnvWrapper":
        """Returns a wrapper of the same kind around a fork of the wrapped environment."""
        fork = object.__new__(type(self))
        fork.__dict__.update(self.__dict__)
        fork.env = self.env.fork()
        return fork

    @property
    def unwrapped(self) -> CompilerEnv:
        """The innermost environment."""
        return self.env.unwrapped

    def __enter__(self) -> "CompilerEnvWrapper":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __copy__(self) -> "CompilerEnvWrapper":
        return self.env.__copy__()

    def __deepcopy__(self, memo: dict) -> "CompilerEnvWrapper":
        del memo
        return self.fork()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"


# Not a subclass: that would define everything, and __getattr__ is for what is not defined.
CompilerEnv.register(CompilerEnvWrapper)
