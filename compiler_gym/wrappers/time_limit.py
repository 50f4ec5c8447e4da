"""Episodes of limited length."""

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.util.gym_type_hints import TRUNCATED
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class TimeLimit(CompilerEnvWrapper):
    """Ends episodes after a number of actions.

    The step that reaches the limit returns ``done``. ``info["TimeLimit.truncated"]`` is then True
    if the episode would have continued; with gymnasium's interface, such a step is ``truncated``
    rather than ``terminated``. A further step warns, and returns ``done`` again.

    Args:
        env: The environment.
        max_episode_steps: The number of actions; by default that of ``env.spec``. Each action of
            :meth:`multistep` counts.

    Raises:
        ValueError: If it is less than 1, or not given at all.
    """

    def __init__(self, env: CompilerEnv, max_episode_steps: int | None = None):
        super().__init__(env)
        if max_episode_steps is None and env.spec is not None:
            max_episode_steps = env.spec.max_episode_steps
        if max_episode_steps is None or not max_episode_steps >= 1:
            raise ValueError(
                f"TimeLimit needs a positive max_episode_steps, not {max_episode_steps}"
            )
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps = 0
        self._is_warned = False

    @property
    def max_episode_steps(self) -> int:
        """The number of actions."""
        return self._max_episode_steps

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self._elapsed_steps = 0
        self._is_warned = False
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
        self._warn_of_further(actions)
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        return self._limited(len(actions), result)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        actions = list(actions)
        self._warn_of_further(actions)
        step = super().begin_multistep(actions, timeout)
        return ConvertedStep(step, partial(self._limited, len(actions)))

    def _warn_of_further(self, actions: list[Any]) -> None:
        has_ended = self._elapsed_steps >= self._max_episode_steps
        if actions and has_ended and not self._is_warned:
            self._is_warned = True
            warnings.warn(
                f"The episode has ended after its {self._max_episode_steps} steps. Call "
                "env.reset() before the next step",
                stacklevel=4,
            )

    def _limited(self, count: int, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        self._elapsed_steps += count
        if self._elapsed_steps >= self._max_episode_steps:
            # A limit inside may have ended the episode at the same step.
            info[TRUNCATED] = not done or info.get(TRUNCATED, False)
            done = True
        return observation, reward, done, info
