"""The modules by which programs written for former releases import the views."""

from compiler_gym import views
from compiler_gym.views.observation import ObservationView
from compiler_gym.views.observation_space_spec import ObservationSpaceSpec
from compiler_gym.views.reward import RewardView


def test_modules():
    assert views.ObservationView is ObservationView
    assert views.ObservationSpaceSpec is ObservationSpaceSpec
    assert views.RewardView is RewardView
