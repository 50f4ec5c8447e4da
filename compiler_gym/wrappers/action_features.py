"""Wrappers that add the actions of the episode to the observation."""

from abc import abstractmethod
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.spaces.utils import flatten, flatten_space
from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.spaces import Box
from compiler_gym.spaces.neutral import neutral_value
from compiler_gym.wrappers.core import ObservationWrapper


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
