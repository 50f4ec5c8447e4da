"""Views of the observations and rewards of an environment, computed on demand."""

from compiler_gym.views.observation import ObservationView
from compiler_gym.views.observation_space_spec import ObservationSpaceSpec
from compiler_gym.views.reward import RewardView

__all__ = ["ObservationSpaceSpec", "ObservationView", "RewardView"]
