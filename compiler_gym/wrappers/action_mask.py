"""A mask of actions that are known to have no effect."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.errors.service_errors import LOSSES
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

# An action that exceeds the time limit counts as failed, too.
_BLAME_NO_ACTION = frozenset(error.__name__ for error in LOSSES) - {"TimeoutError"}


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
    def begin_multistep(self, actions: Iterable[Any], timeout: float = 300) -> RunningStep:
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
            len(actions) == 1 and info["error_type"] not in _BLAME_NO_ACTION
        ):
            space = self.action_space
            self._idle.update(
                space[action] if isinstance(action, str) else int(action) for action in actions
            )
