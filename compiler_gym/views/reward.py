"""The path by which programs written for former releases import this class."""

from compiler_gym.views.reward_view import RewardView

__all__ = ["RewardView"]
