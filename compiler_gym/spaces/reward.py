"""Rewards computed from observations."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from compiler_gym.spaces.scalar import Scalar


class Reward(Scalar):
    """A reward for a step, computed from observations.

    Subclasses override :meth:`update`, and :meth:`reset` if they keep state between steps. Rewards
    compare equal to their name.

    Attributes:
        name: The name of the reward.
        observation_spaces: The names of the observations that :meth:`update` is called with.
        default_value: The reward of a step for which none can be computed.
        default_negates_returns: In that case, also take back all rewards of the episode.
        min: The least reward.
        max: The greatest reward.
        success_threshold: The sum of rewards from which on an episode counts as a success, e.g.
            1 for rewards relative to what a baseline gains; None if there is no such value.
        deterministic: The same actions on the same benchmark give the same rewards.
        platform_dependent: Rewards depend on the machine that the service runs on.
        copies_are_shallow: Set this to True in a class whose attributes are all immutable, except
            :attr:`observation_spaces`. It makes forks faster. Subclasses do not inherit it.
    """

    copies_are_shallow = False

    name: str  # Unlike other spaces, it always has one.

    def __init__(
        self,
        name: str,
        observation_spaces: Iterable[str] | None = None,
        default_value: float = 0,
        min: float | None = None,
        max: float | None = None,
        default_negates_returns: bool = False,
        success_threshold: float | None = None,
        deterministic: bool = False,
        platform_dependent: bool = True,
    ):
        super().__init__(name=name, min=min, max=max, dtype=np.float64)
        self.observation_spaces = list(observation_spaces or [])
        self.default_value = default_value
        self.default_negates_returns = default_negates_returns
        self.success_threshold = success_threshold
        self.deterministic = deterministic
        self.platform_dependent = platform_dependent

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Prepares for an episode; called by ``env.reset()``.

        Args:
            benchmark: The benchmark of the episode; compares equal to its URI.
            observation_view: Gives any observation by name, e.g. ``observation_view["Ir"]``.
        """

    def parameters_changed(self) -> None:
        """Discards cached costs, e.g. of baselines; called by ``env.send_params()``.

        Observations may depend on session parameters.
        """

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Computes the reward of a step.

        Args:
            actions: The actions of the step.
            observations: One value for each of :attr:`observation_spaces`, after the actions.
            observation_view: Gives any other observation by name.

        Returns:
            The reward.
        """
        raise NotImplementedError(
            f"Reward {self.name!r} has no formula; override update() in {type(self).__name__}"
        )

    def reward_on_error(self, episode_reward: float | None) -> float:
        """Returns the reward of a step that failed.

        Args:
            episode_reward: The sum of the rewards of the episode before that step; None if
                there are none.
        """
        if self.default_negates_returns:
            return self.default_value - (episode_reward or 0)
        return self.default_value

    def known_costs(self) -> str:
        """Describes the cached costs of the program. Computes nothing."""
        return ""

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest reward."""
        return self.min, self.max

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.name == other
        return (
            type(self) is type(other)
            and self.observation_spaces == other.observation_spaces
            and super().__eq__(other)
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, min={self.min}, max={self.max})"


class DefaultRewardFromObservation(Reward):
    """The change of an observation: its value after a step minus its value before.

    The value before the first step of an episode counts as 0, so that the rewards of an episode
    add up to the last value. When the service fails, the rewards are taken back.

    Attributes:
        previous_value: The value after the last step.
    """

    def __init__(self, observation_name: str, **kwargs: Any):
        """Makes a reward with the name of an observation; ``kwargs`` are those of Reward."""
        options = {"default_value": 0, "default_negates_returns": True, **kwargs}
        super().__init__(name=observation_name, observation_spaces=[observation_name], **options)
        self.previous_value: float = 0

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Forgets the previous value."""
        self.previous_value = 0

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Returns the increase of the observation."""
        value = float(observations[0])
        reward = value - self.previous_value
        self.previous_value = value
        return reward
