"""Any number that can be observed, as a reward."""

from typing import Any

from compiler_gym.spaces.reward import Reward


class DefaultRewardFromObservation(Reward):
    """The change of an observation: its value after a step minus that before.

    The value before the first step of an episode counts as 0, so that the rewards of an episode
    add up to the last value. When the service fails, the rewards are taken back.
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
        """Returns how much the observation has grown."""
        value = float(observations[0])
        reward = value - self.previous_value
        self.previous_value = value
        return reward
