"""Environments with the interface of gymnasium."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError
from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.spaces.conversions import array_space, array_value, neutral_value
from compiler_gym.util.env_spec import is_setting
from compiler_gym.util.gym_type_hints import FiveResults, five_results
from compiler_gym.util.random_state import copy_generator
from compiler_gym.util.registration import make

# The observation of environments without one, because users of gymnasium expect one.
_NO_OBSERVATION_SPACE = spaces.Box(low=0, high=0, shape=(0,), dtype=np.float32)

_RESET_OPTIONS = ("benchmark", "action_space", "observation_space", "reward_space", "timeout")

# Methods that gymnasium does not have. Its checker warns of environments with them.
_NOT_FORWARDED = ("seed",)

# Episodes of learners are much shorter.
_MANY_STEPS = 1000

# A render mode that some learners request, although programs have no pictures.
_PICTURE = "rgb_array"

# The render mode for humans after each step, if an environment has it.
_SHORT_MODE = "summary"


class GymnasiumEnv(gymnasium.Env):
    """A :class:`CompilerEnv` with the interface of gymnasium.

    ``gymnasium.make()`` returns it. It has all attributes of the inner environment. Only
    ``reset()``, and ``step()`` and ``multistep()`` with their five results, differ. ``terminated``
    is true if the compiler has ended the episode, perhaps by a crash, which ``info`` describes.
    ``truncated`` is true if the episode was cut short: by the wrapper
    :class:`compiler_gym.wrappers.TimeLimit` around the inner environment, or because its session
    was lost. The latter is so if ``info["error_type"]`` is ``TimeoutError``, ``ServiceIsClosed``,
    ``ServiceTransportError``, ``SessionLost`` or ``SessionNotFound``. Such a step returns the last
    observation, and the reward 0. After a crash, the observation is the default value of its space;
    where that is None, zeros, or an empty text or sequence.

    Single numbers, also those in dictionaries, are observed as arrays of shape ``(1,)``, which is
    what learners take. In an episode without a limit, step 1,000 gives a warning.

    Learners count on an observation and a reward. An environment without a default observation
    observes an array of shape ``(0,)``, and one without a reward is rewarded by 0; each of them
    gives a warning, once.

    What is set on a wrapper of gymnasium stays there: behind one, write
    ``env.unwrapped.benchmark = ...``, or ``env.set_wrapper_attr("benchmark", ...)``, or use the
    options of ``reset()``. Wrappers that ``gymnasium.make()`` itself adds, say for
    ``max_episode_steps``, are no obstacle: see
    :class:`~compiler_gym.envs.gymnasium_adapter.TransparentWrapper`.

    Args:
        env: The inner environment, or its id.
        render_mode: What ``render()`` does: ``"human"`` prints the default observation,
            ``"ansi"`` returns it as text, and LLVM environments print a ``"summary"``, also for
            ``"human"``, or the ``"diff"`` to the step before. None for nothing. There are no
            pictures: for ``"rgb_array"`` the mode is ``"ansi"``, and ``render()`` warns.
        **kwargs: If an id is given, arguments of the environment.

    Attributes:
        observes_for_learning: ``reset()`` warns if there is no observation.

    Raises:
        ValueError: If there is no such render mode.
        LookupError: If there is no environment of that id.
    """

    observes_for_learning = True

    #: The render modes and ``render_fps``, which gymnasium requires even for text. The class lists
    #: every mode, so that ``gymnasium.make()`` accepts it; an instance lists its own.
    metadata: dict[str, Any] = {  # noqa: RUF012, gymnasium declares it so.
        "render_modes": ["human", "ansi", "summary", "diff", _PICTURE],
        "render_fps": 4,
    }

    def __init__(self, env: CompilerEnv | str, render_mode: str | None = None, **kwargs: Any):
        # Stable-Baselines3 asks each environment that it makes for pictures, and rarely renders.
        self._wants_pictures = render_mode == _PICTURE
        if self._wants_pictures:
            render_mode = "ansi"
        if render_mode is not None:
            _check_mode(render_mode, self.metadata["render_modes"])
        if kwargs and not isinstance(env, str):
            raise TypeError(f"Arguments {sorted(kwargs)} are for an environment given by its id")
        self._compiler_env = make(env, **kwargs) if isinstance(env, str) else env
        self.metadata = {
            **self.metadata,
            "render_modes": self._compiler_env.metadata["render_modes"],
        }
        try:
            if render_mode is not None:
                _check_mode(render_mode, self.metadata["render_modes"])
        except ValueError:
            if isinstance(env, str):
                self._compiler_env.close()
            raise
        self.render_mode = render_mode
        self._is_warned_of: set[str] = set()
        self._is_closed = False
        self._steps = 0
        # The space of the inner environment, and the converted space.
        self._converted: tuple[Any, spaces.Space[Any]] = (None, _NO_OBSERVATION_SPACE)

    @property
    def compiler_env(self) -> CompilerEnv:
        """The inner environment, with the classic interface."""
        return self._compiler_env

    def insert_wrapper(self, wrap: Callable[[CompilerEnv], CompilerEnv]) -> None:
        """Inserts a wrapper with the classic interface around the inner environment."""
        self._compiler_env = wrap(self._compiler_env)

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The space of observations; without a default observation, that of an empty array."""
        space = self._compiler_env.observation_space
        if space is not self._converted[0]:
            self._converted = space, _NO_OBSERVATION_SPACE if space is None else array_space(space)
        return self._converted[1]

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self._compiler_env.observation_space = space

    @property
    def action_space(self) -> Any:
        """The space of the next action, of any kind."""
        return self._compiler_env.action_space

    @action_space.setter
    def action_space(self, space: Any) -> None:
        self._compiler_env.action_space = space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode.

        Args:
            seed: Makes what follows repeatable: the choice of random benchmarks, and
                ``np_random``. As everywhere in gymnasium, ``action_space.sample()`` is not meant:
                seed it once by ``action_space.seed()``.
            options: Any of ``benchmark``, ``action_space``, ``observation_space``,
                ``reward_space`` and ``timeout``, as of :meth:`CompilerEnv.reset`.

        Returns:
            The observation, and information: the URI of the ``benchmark``, and the
            ``action_mask`` if there is a wrapper that knows one
            (:class:`compiler_gym.wrappers.ActionMask`).

        Raises:
            ValueError: If there is no such option.
            ClosedEnvironmentError: If the environment was closed.
            Exception: Any error of :meth:`CompilerEnv.reset`.
        """
        self._check_open()
        super().reset(seed=seed)
        options = options or {}
        if unknown := sorted(set(options) - set(_RESET_OPTIONS)):
            raise ValueError(
                f"Unknown options of reset: {', '.join(unknown)}. "
                f"There are: {', '.join(_RESET_OPTIONS)}"
            )
        if seed is not None:
            self._seed(seed)
        env = self._compiler_env
        self._steps = 0
        observation = self._observation(env.reset(**options))
        if env.observation_space is None and self.observes_for_learning:
            self.warn_of_none("observation")
        info = {"benchmark": str(env.benchmark)}
        if (masks := getattr(env, "action_masks", None)) is not None:
            info["action_mask"] = masks()
        return observation, info

    def warn_of_none(self, kind: str) -> None:
        """Warns, once, that there is no default ``"observation"`` or ``"reward"``."""
        if kind not in self._is_warned_of:
            self._is_warned_of.add(kind)
            gymnasium.logger.warn(
                f"There is no default {kind}, so a learner sees nothing. Give "
                f"{kind}_space=... to gymnasium.make(), or set env.unwrapped.{kind}_space"
            )

    def _seed(self, seed: int) -> None:
        """Seeds the choices of the inner environment, but not its actions."""
        # Otherwise, a seed for each episode would sample the same actions in all of them.
        action_space = self._compiler_env.action_space
        seed_of_actions = int(action_space.np_random.integers(np.iinfo(np.int32).max))
        self._compiler_env.seed(seed)
        action_space.seed(seed_of_actions)

    def step(self, action: Any, **kwargs: Any) -> FiveResults:
        """Applies an action. See :meth:`CompilerEnv.step` for the arguments and errors.

        Raises:
            TypeError: If it is given several actions.
            ClosedEnvironmentError: If the environment was closed.
        """
        self._check_open()
        if isinstance(action, list | tuple | np.ndarray) and not self.action_space.contains(action):
            raise TypeError(
                f"expected one action, got {action!r}; for several actions there is "
                "env.unwrapped.multistep()"
            )
        self._count_steps(1)
        return self._result(self._compiler_env.step(action, **kwargs), kwargs)

    def multistep(self, actions: Iterable[Any], **kwargs: Any) -> FiveResults:
        """Applies any number of actions at once. See :meth:`CompilerEnv.multistep`."""
        self._check_open()
        actions = list(actions)
        self._count_steps(len(actions))
        return self._result(self._compiler_env.multistep(actions, **kwargs), kwargs)

    def _result(self, result: StepResult, arguments: dict[str, Any]) -> FiveResults:
        names = ("observation_spaces", "observations")
        if all(arguments.get(name) is None for name in names):
            return self.step_result(result)
        # Observations requested by name are not converted.
        return result[0], *self.step_result((None, *result[1:]))[1:]

    def _count_steps(self, count: int) -> None:
        """Warns once of an episode that seems endless."""
        self._steps += count
        if self._steps < _MANY_STEPS or "end" in self._is_warned_of:
            return
        self._is_warned_of.add("end")
        limits = (
            getattr(each, "max_episode_steps", None) for each in (self.spec, self._compiler_env)
        )
        if any(limit is not None for limit in limits):
            return
        gymnasium.logger.warn(
            f"The episode has had {self._steps} steps, and episodes have no end of their own, so "
            "that learners see a single one. Give max_episode_steps=... to gymnasium.make()"
        )

    def step_result(self, result: StepResult) -> FiveResults:
        """Converts the result of the inner environment's step."""
        observation, reward, terminated, truncated, info = five_results(result)
        if reward is None:
            self.warn_of_none("reward")
            reward = 0.0
        return self._observation(observation), reward, terminated, truncated, info

    def _observation(self, observation: Any) -> Any:
        # None if there is no default observation, or after a failure one that has no default value.
        if observation is None:
            return neutral_value(self.observation_space)
        space = self.observation_space
        return observation if space is self._converted[0] else array_value(space, observation)

    def render(self) -> str | None:
        """Shows the default observation, as the render mode says."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "Nothing is rendered without a render mode. Give render_mode to gymnasium.make()"
            )
            return None
        if self._wants_pictures:
            gymnasium.logger.warn(
                "There are no pictures of programs. Render mode 'ansi', which returns text, is "
                "used instead of 'rgb_array'"
            )
        is_short = self.render_mode == "human" and _SHORT_MODE in self.metadata["render_modes"]
        return self._compiler_env.render(_SHORT_MODE if is_short else self.render_mode)

    def fork(self) -> "GymnasiumEnv":
        """Returns an independent environment in exactly the state of this one."""
        return self._fork_around(self._compiler_env.fork())

    def _fork_around(self, env: CompilerEnv) -> "GymnasiumEnv":
        clone = GymnasiumEnv(env, self.render_mode)
        clone.spec = self.spec
        clone.np_random = copy_generator(self.np_random)
        return clone

    def close(self) -> None:
        """Closes the inner environment. There are no further episodes."""
        self._is_closed = True
        self._compiler_env.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedEnvironmentError("The environment was closed. Make another one")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self._compiler_env!r}>"

    __str__ = __repr__

    def __copy__(self) -> "GymnasiumEnv":
        raise TypeError("An environment cannot be copied. Use env.fork()")

    def __deepcopy__(self, memo: dict[int, Any]) -> "GymnasiumEnv":
        if id(self._compiler_env.unwrapped) not in memo:
            return self.fork()
        # A reward keeps this, and is copied for a fork of the environment inside.
        return self._fork_around(copy.deepcopy(self._compiler_env, memo))

    def __getattr__(self, name: str) -> Any:
        # Called for what is not found here.
        if name.startswith("_") or name in _NOT_FORWARDED:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return getattr(self._compiler_env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        env = vars(self).get("_compiler_env")
        is_own = env is None or hasattr(type(self), name)
        if not is_own and is_setting(env, name):
            setattr(env, name, value)
        else:
            super().__setattr__(name, value)


def _check_mode(mode: str, modes: list[str]) -> None:
    if mode not in modes:
        raise ValueError(f"Unknown render mode {mode!r}. There are: {', '.join(modes)}")


class TransparentWrapper(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """A :class:`GymnasiumEnv` behind wrappers that does not look as if it were.

    What ``gymnasium.make()`` returns if it has put wrappers around the environment. Attributes are
    read and set as those of the :class:`GymnasiumEnv`; forks are behind wrappers in the same state.
    The wrappers notice ``step()``, but not ``multistep()``. A step after the end of the episode
    gives a warning, which the wrapper for ``max_episode_steps`` does not.

    Args:
        env: The outermost of the wrappers.
    """

    def __init__(self, env: gymnasium.Env):
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._has_ended = False

    @override
    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self._has_ended = False
        return super().reset(**kwargs)

    @override
    def step(self, action: Any, **kwargs: Any) -> FiveResults:
        if self._has_ended:
            gymnasium.logger.warn("The episode has ended. Call env.reset() before the next step")
        result = self.env.step(action, **kwargs)
        self._has_ended = result[2] or result[3]
        return result

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
    """Returns a :class:`GymnasiumEnv` unchanged, and others in a transparent wrapper."""
    return env if isinstance(env, GymnasiumEnv) else TransparentWrapper(env)
