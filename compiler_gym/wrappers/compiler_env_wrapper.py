"""The base class of wrappers."""

import copy
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import Self, override

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import AnyBenchmark, Benchmark, Dataset, Datasets
from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.errors import SessionNotFound
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.util.env_spec import EnvSpec, is_setting
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView

_SEQUENCE_TYPES = (list, tuple, np.ndarray)

if TYPE_CHECKING:
    forwarded = property
else:

    class forwarded(property):  # noqa: N801, stands for property.
        """A property that an attribute of the same name replaces.

        Wrappers for CompilerGym 0.2.5 have attributes such as ``self.benchmarks`` of their own.
        """

        def __get__(self, instance, owner=None):
            own = {} if instance is None else vars(instance)
            name = self.fget.__name__
            return own[name] if name in own else super().__get__(instance, owner)

        def __set__(self, instance, value):
            vars(instance)[self.fget.__name__] = value


class CompilerEnvWrapper(CompilerEnv):
    """A wrapper that forwards everything to another environment, unless a subclass overrides it.

    All methods and properties of :class:`CompilerEnv` forward to the wrapped environment.
    Arguments are passed on as given, so overrides may accept fewer. To change steps, override
    :meth:`multistep`, which :meth:`step` calls, and
    :meth:`begin_multistep`, with which vector environments make many steps at once. A class that
    overrides only the first gets a :meth:`begin_multistep` that waits for the step.
    :meth:`apply` and :meth:`validate` use the compiler's own actions, like :attr:`state` and
    :meth:`commandline`, and bypass the steps of wrappers.

    Further attributes of the wrapped environment, such as ``LlvmEnv.write_bitcode`` and
    ``LlvmEnv.runtime_observation_count``, can be read here. Setting a property, or another public
    attribute of the innermost environment such as ``recover``, sets it there. All other attributes
    belong to the wrapper, and so do names that begin with an underscore. A wrapper may thus have an
    attribute ``benchmarks`` or ``transitions``, which replaces the one of the environment for users
    of the wrapper. What describes the episode, such as :attr:`state`, cannot be set.

    A fork has the same class and copies of the wrapper's own attributes, see
    :meth:`fork_attribute`.

    Applied to an environment of ``gymnasium.make()``, a wrapper is inserted inside, around the
    innermost environment. The result is then the environment of gymnasium.

    Args:
        env: The environment to wrap.

    Raises:
        TypeError: If it is an environment of another library.

    Attributes:
        env: The wrapped environment.
    """

    env: CompilerEnv

    def __new__(cls, env: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Makes the wrapper, or puts it inside of an environment of ``gymnasium.make()``."""
        inner = None if isinstance(env, CompilerEnv) else getattr(env, "unwrapped", None)
        insert = getattr(inner, "insert_wrapper", None)
        if insert is None:
            return super().__new__(cls)
        insert(lambda inside: cls(inside, *args, **kwargs))
        return env

    def __init__(self, env: CompilerEnv):
        if not isinstance(env, CompilerEnv):
            raise TypeError(
                f"{type(self).__name__} is for environments of compiler_gym.make(), not for a "
                f"{type(env).__name__}. Wrap those first, and then give them to GymnasiumEnv() or "
                "to wrappers of other libraries"
            )
        self.env = env

    def __getattr__(self, name: str) -> Any:
        # Called for missing attributes, and for properties that raise an AttributeError.
        if name == "env" or name.startswith("_") or hasattr(type(self), name):
            return object.__getattribute__(self, name)  # Raises the original error.
        return getattr(self.env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name == "env" or hasattr(type(self), name)
        if not is_own and "env" in vars(self) and is_setting(self.env, name, writable=True):
            setattr(self.env, name, value)
        else:
            object.__setattr__(self, name, value)

    # ------------------------------------------------------------------------------------------
    # Spaces.

    @forwarded
    @override
    def metadata(self) -> dict[str, Any]:  # type: ignore[override]  # Elsewhere, it is of the class.
        """The metadata of the environment inside, such as its render modes."""
        return self.env.metadata

    @forwarded
    @override
    def render_mode(self) -> str | None:  # type: ignore[override]  # Elsewhere, it is an attribute.
        """The render mode that was given to ``gym.make()``, or None."""
        return self.env.render_mode

    @property
    @override
    def spec(self) -> EnvSpec | None:
        """The specification that the environment inside was made from, or None."""
        return self.env.spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self.env.spec = spec

    @property
    @override
    def observation_space(self) -> Space[Any] | None:
        return self.env.observation_space

    @observation_space.setter
    def observation_space(self, space: str | ObservationSpaceSpec | None) -> None:
        self.env.observation_space = space

    @property
    @override
    def observation_space_spec(self) -> ObservationSpaceSpec | None:
        return self.env.observation_space_spec

    @observation_space_spec.setter
    def observation_space_spec(self, space: str | ObservationSpaceSpec | None) -> None:
        self.env.observation_space_spec = space

    @property
    @override
    def reward_space(self) -> Reward | None:
        return self.env.reward_space

    @reward_space.setter
    def reward_space(self, space: str | Reward | None) -> None:
        self.env.reward_space = space

    @property
    @override
    def reward_space_spec(self) -> Reward | None:
        return self.env.reward_space_spec

    @reward_space_spec.setter
    def reward_space_spec(self, space: str | Reward | None) -> None:
        self.env.reward_space_spec = space

    @property
    @override
    def reward_range(self) -> tuple[float, float]:
        return self.env.reward_range

    @property
    @override
    def action_space(self) -> Any:
        return self.env.action_space

    @action_space.setter
    def action_space(self, space: str | Space[Any] | None) -> None:
        self.env.action_space = space

    @forwarded
    @override
    def action_spaces(self) -> list[Any]:
        return self.env.action_spaces

    @property
    @override
    def observation(self) -> ObservationView:
        return self.env.observation

    @observation.setter
    def observation(self, view: ObservationView) -> None:
        self.env.observation = view

    @property
    @override
    def reward(self) -> RewardView:
        return self.env.reward

    @reward.setter
    def reward(self, view: RewardView) -> None:
        self.env.reward = view

    # ------------------------------------------------------------------------------------------
    # Benchmarks.

    @property
    @override
    def benchmark(self) -> Benchmark | None:
        return self.env.benchmark

    @benchmark.setter
    def benchmark(self, benchmark: AnyBenchmark) -> None:
        self.env.benchmark = benchmark

    @property
    @override
    def datasets(self) -> Datasets:
        return self.env.datasets

    @datasets.setter
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None:
        self.env.datasets = datasets

    @forwarded
    @override
    def benchmarks(self) -> list[str]:
        return self.env.benchmarks

    @override
    def require_datasets(self, names: Iterable[str | Dataset]) -> None:
        self.env.require_datasets(names)

    @override
    def require_dataset(self, name: str | Dataset) -> None:
        self.env.require_dataset(name)

    @override
    def seed(self, seed: int | None = None) -> list[int | None]:
        seeds = self.env.seed(seed)
        if self.action_space is not self.env.action_space:
            self.action_space.seed(seed)
        return seeds

    # ------------------------------------------------------------------------------------------
    # Episodes.

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        return self.env.reset(*args, **kwargs)

    @override
    def prepare_reset(self, *args: Any, **kwargs: Any) -> None:
        self.env.prepare_reset(*args, **kwargs)

    @override
    def step(
        self,
        action: Any,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        """Applies an action by calling :meth:`multistep`, see :meth:`CompilerEnv.step`."""
        actions: Iterable[Any] = [action]
        if isinstance(action, _SEQUENCE_TYPES) and not self.action_space.contains(action):
            warnings.warn(
                "Giving several actions to env.step() is deprecated. Use env.multistep()",
                DeprecationWarning,
                stacklevel=2,
            )
            actions = action
        return self.multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        return self.env.multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        return self.env.begin_multistep(actions, timeout)

    @override
    def close(self) -> None:
        self.env.close()

    @override
    def render(self, mode: str = "human") -> str | None:
        return self.env.render(mode)

    @property
    @override
    def in_episode(self) -> bool:
        return self.env.in_episode

    @property
    @override
    def episode_reward(self) -> float | None:
        return self.env.episode_reward

    @episode_reward.setter
    def episode_reward(self, reward: float | None) -> None:
        self.env.episode_reward = reward

    @property
    @override
    def episode_walltime(self) -> float:
        return self.env.episode_walltime

    @property
    @override
    def actions(self) -> list[Any]:
        return self.env.actions

    # ------------------------------------------------------------------------------------------
    # States.

    @property
    @override
    def state(self) -> CompilerEnvState:
        return self.env.state

    @override
    def apply(self, state: CompilerEnvState) -> None:
        self.env.apply(state)

    @override
    def validate(self, state: CompilerEnvState | None = None) -> ValidationResult:
        return self.env.validate(state)

    @override
    def commandline(self, *args: Any, **kwargs: Any) -> str:
        return self.env.commandline(*args, **kwargs)

    @override
    def commandline_to_actions(self, commandline: str) -> list[Any]:
        return self.env.commandline_to_actions(commandline)

    # ------------------------------------------------------------------------------------------
    # Versions.

    @property
    @override
    def version(self) -> str:
        return self.env.version

    @property
    @override
    def compiler_version(self) -> str:
        return self.env.compiler_version

    # ------------------------------------------------------------------------------------------
    # Forks.

    @override
    def fork(self) -> Self:
        """Returns a wrapper of the same class around a fork of the wrapped environment.

        Raises:
            TypeError: If an attribute of the wrapper cannot be copied.
            Exception: Any error of :meth:`CompilerEnv.fork`.
        """
        try:
            _ = self.env.episode_walltime
        except SessionNotFound:
            self.reset()  # There was no episode yet.
            self._give_back_benchmark()
        return self._fork_around(self.env.fork(), {})

    def _give_back_benchmark(self) -> None:
        """Undoes the choice of a benchmark by a reset in :meth:`fork`."""
        if isinstance(self.env, CompilerEnvWrapper):
            self.env._give_back_benchmark()

    @override
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self.unwrapped) not in memo:
            return self.fork()
        # A reward keeps this wrapper, and is copied for a fork of the environment inside.
        return self._fork_around(copy.deepcopy(self.env, memo), memo)

    def _fork_around(self, env: CompilerEnv, memo: dict[int, Any]) -> Self:
        """Returns a wrapper like this one around a fork. Closes the fork on failure."""
        fork = object.__new__(type(self))
        fork.env = env
        try:
            memo = {**memo, **_counterparts(self, fork)}
            for name, value in vars(self).items():
                if name != "env":
                    vars(fork)[name] = self.fork_attribute(name, value, memo)
        except BaseException:
            fork.env.close()
            raise
        return fork

    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        """Copies an attribute of this wrapper for a new fork.

        Like ``copy.deepcopy``, but replaces the environment and its wrappers by those of the fork.
        Override it for attributes that forks share, or that are reset in a fork.

        Args:
            name: The name of the attribute.
            value: Its value here.
            memo: The second argument of ``copy.deepcopy``.

        Raises:
            TypeError: If the attribute cannot be copied.
        """
        try:
            return copy.deepcopy(value, memo)
        except (TypeError, copy.Error) as error:
            raise TypeError(
                f"Cannot copy {type(self).__name__}.{name} for a fork: {error}. "
                "Override fork_attribute() to provide a value for the fork"
            ) from error

    @property
    @override
    def unwrapped(self) -> CompilerEnv:
        return self.env.unwrapped

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"


def _counterparts(env: CompilerEnv, fork: CompilerEnv) -> dict[int, Any]:
    """Maps the ids of an environment and its wrappers to their counterparts in a fork."""
    counterparts = {id(env): fork}
    while isinstance(env, CompilerEnvWrapper) and isinstance(fork, CompilerEnvWrapper):
        env, fork = env.env, fork.env
        counterparts[id(env)] = fork
    return counterparts
