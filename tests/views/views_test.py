"""The views of the observations and rewards of an environment."""

import pytest

from compiler_gym.spaces import Reward, Scalar
from compiler_gym.views import ObservationView, RewardView
from tests.service.toy_service import make_toy_env

APPEND_A = 3


@pytest.fixture
def env():
    with make_toy_env() as env:
        env.reset()
        yield env


def test_observations(env):
    view = env.observation
    assert isinstance(view, ObservationView)
    assert view["text"] == view.text() == "hello"
    assert view.observe(["length", "text", "length"]) == [5, "hello", 5]
    assert view.observe([]) == []
    env.step(APPEND_A)
    assert view["text"] == "helloa"
    assert {"text", "spaces"} <= {*dir(view)}
    with pytest.raises(AttributeError, match="length"):
        view.lenght()


def test_derived_observations(env):
    view = env.observation
    space = Scalar("size", 0, 9, int)
    view.add_derived_space(id="size", base_id="text", translate=len, space=space)
    assert view["size"] == view.size() == 5
    assert view.spaces["size"].space is space
    view.add_derived_space(id="size", base_id="length", translate=lambda length: -length)
    assert view["size"] == -5
    with pytest.raises(KeyError, match="length"):
        view.add_derived_space(id="x", base_id="lenght", translate=abs)
    with env.fork() as fork:
        fork.observation.add_derived_space(id="mine", base_id="text", translate=str.upper)
        assert fork.observation["mine"] == "HELLO"
    assert "mine" not in view.spaces


def test_rewards_advance_when_they_are_asked_for(env):
    assert [env.reward["length"], env.reward["length"]] == [5, 0]
    env.step(APPEND_A)
    assert [env.reward.length(), env.reward.length()] == [1, 0]
    env.reset()
    assert env.reward["length"] == 5


def test_names_of_rewards(env):
    view = env.reward
    assert {"length", "add_space"} <= {*dir(view)}
    with pytest.raises(KeyError, match=r"'lenght'.*length"):
        view["lenght"]
    with pytest.raises(AttributeError, match=r"lenght.*length"):
        view.lenght()
    view.add_space(first := Reward("new"))
    assert view.spaces["new"] is first
    with pytest.warns(UserWarning, match="new"):
        view.add_space(second := Reward("new"))
    assert view.spaces["new"] is second
    with pytest.raises(ValueError, match="reward spaces"):
        RewardView([], env.observation)["length"]
