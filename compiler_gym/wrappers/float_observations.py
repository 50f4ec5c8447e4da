"""Observations as arrays of floats."""

from typing import Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.spaces.array_space import array_space, array_value
from compiler_gym.wrappers.core import ObservationWrapper


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
