"""Import path of 0.2.5 for this class."""

from compiler_gym.views.observation_view import ObservationView

__all__ = ["ObservationView"]
