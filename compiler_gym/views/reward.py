"""Import path of 0.2.5 for this class."""

from compiler_gym.views.reward_view import RewardView

__all__ = ["RewardView"]
