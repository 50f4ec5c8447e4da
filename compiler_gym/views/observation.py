"""The path by which programs written for former releases import this class."""

from compiler_gym.views.observation_view import ObservationView

__all__ = ["ObservationView"]
