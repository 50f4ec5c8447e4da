"""Wrappers that change what the agent observes."""

from abc import abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.spaces.utils import flatten, flatten_space
from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.errors.service_errors import BLAME_NO_ACTION
from compiler_gym.spaces import Box, Reward
from compiler_gym.spaces.conversions import array_space, array_value, neutral_value
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper
from compiler_gym.wrappers.core import ObservationWrapper

# Wrappers that add the actions of the episode to the observation.


class _ActionFeatures(ObservationWrapper):
    """Appends numbers made of the actions since the reset to the default observation.

    The result is a vector of float32. The default observation has to be one of numbers; numbers,
    dictionaries and arrays of any shape become vectors as in gymnasium's ``FlattenObservation``.
    Without a default observation, the result is these numbers alone. Observations requested by
    name do not change.

    The actions are :attr:`actions`, so undone actions do not count. Put an
    :class:`ActionWrapper`, whose actions have other numbers, outside of this wrapper.
    """

    # The spaces of the environment inside for which the space was computed, and that space.
    _declared: tuple[Space[Any] | None, Space[Any], Box] | None = None

    @property
    @override
    def observation_space(self) -> Space[Any]:
        """The space of the observations that steps return by default.

        Set it to the default observation to which the numbers are appended.

        Raises:
            TypeError: If there is no vector for the observations inside, or actions are not
                numbered.
        """
        inside, actions = self.env.observation_space, self.action_space
        if self._declared is None or self._declared[:2] != (inside, actions):
            self._declared = (inside, actions, self._declare(inside))
        return self._declared[2]

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self.env.observation_space = space

    def _declare(self, inside: Space[Any] | None) -> Box:
        size = self._size()
        lows, highs = [np.zeros(size)], [np.full(size, self._high)]
        if inside is not None:
            flat = self._flattened(inside)
            lows.insert(0, flat.low)
            highs.insert(0, flat.high)
        low, high = (np.concatenate(each).astype(np.float32) for each in (lows, highs))
        return Box(low, high, type(self).__name__, dtype=np.float32)

    def _flattened(self, inside: Space[Any]) -> Any:
        try:
            flat: Any = flatten_space(inside)
        except NotImplementedError:
            flat = None
        if not hasattr(flat, "low"):
            raise TypeError(
                f"{type(self).__name__} appends numbers to a vector, and {inside} has none. Set "
                "env.observation_space to one of numbers, e.g. 'Autophase', or to None"
            )
        return flat

    @override
    def convert_observation(self, observation: Any) -> np.ndarray:
        _ = self.observation_space  # Raises an error if the space is unsuitable.
        inside = self.env.observation_space
        numbers = self._numbers(np.asarray(self.env.actions, dtype=np.int64))
        if inside is None:
            return numbers
        if observation is None:  # The observation is None after a failure.
            observation = neutral_value(inside)
        return np.concatenate([flatten(inside, observation), numbers]).astype(np.float32)

    @property
    def _action_count(self) -> int:
        count = getattr(self.action_space, "n", None)
        if count is None:
            raise TypeError(f"{type(self).__name__} needs actions that are numbered")
        return int(count)

    # The greatest of the numbers.
    _high: float

    @abstractmethod
    def _size(self) -> int:
        """The count of appended numbers."""

    @abstractmethod
    def _numbers(self, actions: np.ndarray) -> np.ndarray:
        """Makes float32[size] of the actions since the reset."""


class ActionHistogram(_ActionFeatures):
    """Appends the count of each action since the reset: n zeros at first.

    See :class:`LastActions`, which can be put around it, for the order.

    Args:
        env: The environment, whose n actions are numbered. The n counts come after what it
            observes, as one vector of float32.
        divisor: The divisor of the counts, e.g. the number of steps of an episode.

    Raises:
        ValueError: If the divisor is not positive.
    """

    _high = float("inf")

    def __init__(self, env: CompilerEnv, divisor: float = 1):
        super().__init__(env)
        if not divisor > 0:
            raise ValueError(f"Expected a positive divisor, got {divisor}")
        self._divisor = divisor

    @override
    def _size(self) -> int:
        return self._action_count

    @override
    def _numbers(self, actions: np.ndarray) -> np.ndarray:
        counts = np.bincount(actions, minlength=self._action_count)
        return (counts / self._divisor).astype(np.float32)


class LastActions(_ActionFeatures):
    """Appends the most recent actions in one-hot encoding, the latest first.

    Each action is n numbers. They are all 0 if there were fewer actions so far.

    Args:
        env: The environment, whose n actions are numbered. The numbers come after what it
            observes, as one vector of float32.
        count: The number of actions to observe.

    Raises:
        ValueError: If ``count`` is less than 1.
    """

    _high = 1.0

    def __init__(self, env: CompilerEnv, count: int = 1):
        super().__init__(env)
        if count < 1:
            raise ValueError(f"Expected the number of last actions to be at least 1, got {count}")
        self._count = count

    @override
    def _size(self) -> int:
        return self._count * self._action_count

    @override
    def _numbers(self, actions: np.ndarray) -> np.ndarray:
        rows = np.zeros((self._count, self._action_count), dtype=np.float32)
        last = actions[: -self._count - 1 : -1]
        rows[np.arange(len(last)), last] = 1
        return rows.ravel()


# A mask of actions that are known to have no effect.


class ActionMask(CompilerEnvWrapper):
    """Masks actions that are known to have no effect in the current state.

    An action is masked if it had no effect since the program last changed, or if it failed and the
    environment recovered. ``MaskablePPO`` of sb3-contrib calls :meth:`action_masks`. The mask is
    also in ``info["action_mask"]`` of each step and, with gymnasium's interface, of ``reset()``.

    Put wrappers that change the action space inside of this one.

    Args:
        env: The environment, whose actions are numbered.

    Raises:
        TypeError: If actions are not numbered.
    """

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        if not hasattr(env.action_space, "n"):
            raise TypeError(f"{type(self).__name__} needs actions that are numbered")
        self._idle: set[int] = set()
        self._actions: list[Any] = []  # The number of actions after which the mask is valid.

    def action_masks(self) -> np.ndarray:
        """Returns bool[n]: true for actions that may have an effect.

        If no action has one, all are true, because learners need a choice.
        """
        mask = np.ones(int(self.action_space.n), dtype=bool)
        idle = self._known()
        if len(idle) < mask.size:
            mask[list(idle)] = False
        return mask

    def _known(self) -> set[int]:
        """Returns the idle actions; none if anything but a step has changed the program."""
        actions = self.env.actions
        if actions != self._actions:
            self._idle, self._actions = set(), actions
        return self._idle

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self._idle.clear()
        return super().reset(*args, **kwargs)

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        actions = list(actions)
        idle = self._known()
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        return self._with_mask(actions, idle, result)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        actions = list(actions)
        idle = self._known()
        step = super().begin_multistep(actions, timeout)
        return ConvertedStep(step, partial(self._with_mask, actions, idle))

    def _with_mask(self, actions: list[Any], idle: set[int], result: StepResult) -> StepResult:
        observation, reward, done, info = result
        if not done:
            self._idle, self._actions = idle, self.env.actions
            self._learn(actions, info)
        info["action_mask"] = self.action_masks()
        return observation, reward, done, info

    def _learn(self, actions: list[Any], info: dict[str, Any]) -> None:
        if not info.get("action_had_no_effect"):
            # Without actions, nothing has changed.
            if actions:
                self._idle.clear()
        elif not info.get("recovered") or (
            len(actions) == 1 and info["error_type"] not in BLAME_NO_ACTION
        ):
            space = self.action_space
            self._idle.update(
                space[action] if isinstance(action, str) else int(action) for action in actions
            )


# A wrapper that normalises Autophase features by program size.

_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")


class AutophaseNorm(ObservationWrapper):
    """Observes Autophase features divided by the initial size of the program.

    The divisor is ``TotalInsts``, the number of instructions, in the first Autophase vector that
    is observed in an episode, which is that of :meth:`reset`; it is 1 if there are none. It stays
    the same throughout the episode, so that passes which make the program smaller make features
    smaller. Values are float32[56], zero or more; those of features that count instructions are at
    most 1 in the beginning.

    After a failure the observation is zeros. Another default observation, and observations
    requested by name, are unchanged.

    Args:
        env: An LLVM environment, whose default observation becomes ``Autophase``.

    Raises:
        ValueError: If a wrapper inside observes something else.
    """

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        env.observation_space = "Autophase"
        size = len(AUTOPHASE_FEATURE_NAMES)
        if env.observation_space is None or env.observation_space.shape != (size,):
            raise ValueError(
                f"{type(self).__name__} belongs inside of wrappers that have other observations, "
                f"such as {env}"
            )
        self._normalized = Box(0, np.inf, "AutophaseNorm", shape=(size,), dtype=np.float32)
        self._instruction_count: int | None = None

    @property
    def _is_in_use(self) -> bool:
        return self.env.observation_space_spec == "Autophase"

    @property
    @override
    def observation_space(self) -> Space[Any] | None:
        """The space of the observations that steps return by default. Set as usual."""
        return self._normalized if self._is_in_use else self.env.observation_space

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self.env.observation_space = space

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self._instruction_count = None
        return super().reset(*args, **kwargs)

    @override
    def convert_observation(self, observation: Any) -> Any:
        if not self._is_in_use:
            return observation
        if self._instruction_count is None:
            self._instruction_count = max(int(observation[_TOTAL]), 1)
        return (observation / self._instruction_count).astype(np.float32)


# Observations as arrays of floats.


class FloatObservations(ObservationWrapper):
    """Observes numbers as arrays of float32, for libraries that do not convert integers.

    Single numbers become arrays of shape ``(1,)``; arrays, dictionaries and tuples keep their form.
    Integers above 2²⁴ are rounded. Texts, other observations, and observations requested by name
    are unchanged.

    Args:
        env: The environment.
    """

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        # The space of the environment inside, and the converted space.
        self._seen_space: tuple[Space[Any] | None, Space[Any] | None] = (None, None)

    @property
    @override
    def observation_space(self) -> Space[Any] | None:
        """The space of the observations that steps return by default. Set as usual."""
        space = self.env.observation_space
        if space is not self._seen_space[0]:
            self._seen_space = space, None if space is None else array_space(space, np.float32)
        return self._seen_space[1]

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self.env.observation_space = space

    @override
    def convert_observation(self, observation: Any) -> Any:
        space = self.observation_space
        if space is None or observation is None:
            return observation
        return array_value(space, observation)
