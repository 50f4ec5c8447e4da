"""A wrapper that normalises Autophase features by program size."""

from typing import Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.spaces import Box
from compiler_gym.wrappers.core import ObservationWrapper

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
