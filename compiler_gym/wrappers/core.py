"""What wrappers are derived from that change actions, observations or rewards."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.envs.compiler_env import StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

__all__ = ["ActionWrapper", "CompilerEnvWrapper", "ObservationWrapper", "RewardWrapper"]


class ActionWrapper(CompilerEnvWrapper):
    """Has other actions than the environment inside.

    Subclasses override :meth:`action`, and :meth:`reverse_action` if they need it. To say what the
    actions are, set :attr:`action_space` to a space, or override it. :attr:`actions` and
    :attr:`state` are in terms of the environment inside.
    """

    _own_action_space: Space[Any] | None = None

    def action(self, action: Any) -> Any:
        """Returns the action of the environment inside that an action stands for: the same."""
        return action

    def reverse_action(self, action: Any) -> Any:
        """Returns the action that stands for one of the environment inside."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say which action stands for one of the environment "
            "inside; override reverse_action()"
        )

    @property
    @override
    def action_space(self) -> Any:
        """The actions that can follow.

        Set it to a space of one's own, which the wrapper keeps, or to one of those of the
        environment inside, or its name, which go there.
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
    def begin_multistep(self, actions: Iterable[Any], timeout: float = 300) -> RunningStep:
        return super().begin_multistep([self.action(action) for action in actions], timeout)


class ObservationWrapper(CompilerEnvWrapper):
    """Has other default observations than the environment inside.

    Subclasses override :meth:`convert_observation`. To say what it returns, set
    :attr:`observation_space` to a space, or override it. What is asked for by name stays as it is.
    """

    _own_observation_space: Space[Any] | None = None

    def convert_observation(self, observation: Any) -> Any:
        """Returns what to observe in place of the default observation of the environment inside.

        That is the same unless it is overridden.

        Args:
            observation: That observation; None if there is no default observation.
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
        return self.convert_observation(super().reset(*args, **kwargs))

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
    def begin_multistep(self, actions: Iterable[Any], timeout: float = 300) -> RunningStep:
        return ConvertedStep(super().begin_multistep(actions, timeout), self._converted)

    def _converted(self, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        return self.convert_observation(observation), reward, done, info


class RewardWrapper(CompilerEnvWrapper):
    """Has other default rewards than the environment inside, and so another ``episode_reward``.

    Subclasses override :meth:`convert_reward`. What is asked for by name stays as it is.
    """

    def convert_reward(self, reward: float) -> float:
        """Returns the reward to give in place of the default reward of the environment inside.

        That is the same unless it is overridden.
        """
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
    def begin_multistep(self, actions: Iterable[Any], timeout: float = 300) -> RunningStep:
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
            reward = self.convert_reward(reward)
            self.env.episode_reward = (former or 0.0) + reward
        return observation, reward, done, info
