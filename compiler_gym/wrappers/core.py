"""Base classes for wrappers that change actions, observations or rewards."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.envs.compiler_env import StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.spaces.reward import number_from
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

__all__ = ["ActionWrapper", "CompilerEnvWrapper", "ObservationWrapper", "RewardWrapper"]


class ActionWrapper(CompilerEnvWrapper):
    """Base class for wrappers that change actions.

    Subclasses override :meth:`action`, and :meth:`reverse_action` if needed. To declare the
    action space, set :attr:`action_space` to a space, or override it. :attr:`actions` and
    :attr:`state` are in terms of the environment inside.
    """

    _own_action_space: Space[Any] | None = None

    def action(self, action: Any) -> Any:
        """Converts an action to one of the environment inside. By default, returns it unchanged."""
        return action

    def reverse_action(self, action: Any) -> Any:
        """Converts an action of the environment inside to one of this wrapper."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot convert actions of the environment inside; "
            "override reverse_action()"
        )

    @property
    @override
    def action_space(self) -> Any:
        """The space of actions.

        Set it to a space of your own, which the wrapper keeps. A space of the environment inside,
        or its name, is passed on to that environment.
        """
        own = self._own_action_space
        return self.env.action_space if own is None else own

    @action_space.setter
    def action_space(self, space: str | Space[Any] | None) -> None:
        names = [each.name for each in self.env.action_spaces]
        if space is None or isinstance(space, str) or getattr(space, "name", None) in names:
            self.env.action_space = space
            self._own_action_space = None
        else:
            self._own_action_space = space

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        actions = [self.action(action) for action in actions]
        return super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        return super().begin_multistep([self.action(action) for action in actions], timeout)


class ObservationWrapper(CompilerEnvWrapper):
    """Base class for wrappers that change the default observation.

    Subclasses override :meth:`convert_observation`. To declare the space of its results, set
    :attr:`observation_space` to a space, or override it. Observations requested by name do not
    change.
    """

    _own_observation_space: Space[Any] | None = None

    def convert_observation(self, observation: Any) -> Any:
        """Converts the default observation. By default, returns it unchanged.

        Args:
            observation: The default observation of the environment inside; None if it has none.
        """
        return observation

    @property
    @override
    def observation_space(self) -> Space[Any] | None:
        """The space of the observations that steps return by default.

        Set it to a space, which the wrapper keeps, or to what the environment inside takes (a
        name, an ``ObservationSpaceSpec``, None), which goes there.
        """
        own = self._own_observation_space
        return self.env.observation_space if own is None else own

    @observation_space.setter
    def observation_space(self, space: str | ObservationSpaceSpec | Space[Any] | None) -> None:
        if space is None or isinstance(space, str | ObservationSpaceSpec):
            self.env.observation_space = space
            self._own_observation_space = None
        else:
            self._own_observation_space = space

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        return self._checked(super().reset(*args, **kwargs))

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        is_default = observation_spaces is None and kwargs.get("observations") is None
        return self._converted(result) if is_default else result

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        return ConvertedStep(super().begin_multistep(actions, timeout), self._converted)

    def _converted(self, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        return self._checked(observation), reward, done, info

    def _checked(self, observation: Any) -> Any:
        converted = self.convert_observation(observation)
        # None would stand for a failure.
        if converted is None and observation is not None:
            name = f"{type(self).__name__}.convert_observation()"
            raise TypeError(f"expected an observation from {name}, got None")
        return converted


class RewardWrapper(CompilerEnvWrapper):
    """Base class for wrappers that change the default reward, and so ``episode_reward``.

    Subclasses override :meth:`convert_reward`. Rewards requested by name do not change.
    """

    def convert_reward(self, reward: float) -> float:
        """Converts the default reward. By default, returns it unchanged."""
        return reward

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        former = self.env.episode_reward
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        is_default = reward_spaces is None and kwargs.get("rewards") is None
        return self._converted(former, result) if is_default else result

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        former = self.env.episode_reward
        step = super().begin_multistep(actions, timeout)
        return ConvertedStep(step, partial(self._converted, former))

    @override
    def validate(self, state: CompilerEnvState | None = None) -> ValidationResult:
        """Validates a state, but not its reward, which the environment inside cannot repeat."""
        state = self.state if state is None else state
        result = super().validate(state.model_copy(update={"reward": None}))
        return result.model_copy(update={"state": state})

    def _converted(self, former: float | None, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        if reward is not None:
            reward = number_from(self.convert_reward(reward), self, "convert_reward")
            self.env.episode_reward = (former or 0.0) + reward
        return observation, reward, done, info
