import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import SessionNotFound
from compiler_gym.service.proto import Event, Int64Range, ObservationSpace, Space
from compiler_gym.spaces import DefaultRewardFromObservation, Reward
from compiler_gym.views import ObservationView, RewardView

BENCHMARK = Benchmark.from_file_contents("benchmark://test-v0/1", b"")


class FakeEnv:
    """An environment whose only observation, Cost, can be set."""

    def __init__(self):
        self.cost = 10
        self.in_episode = True
        self.observation = ObservationView(
            self.raw_step,
            [ObservationSpace(name="Cost", space=Space(int64_value=Int64Range(min=0)))],
        )

    def raw_step(self, actions, observation_spaces, reward_spaces):
        if not self.in_episode:
            raise SessionNotFound("call env.reset() first")
        event = Event(int64_value=self.cost)
        return [spec.translate(event) for spec in observation_spaces], [], False, {}


class Recorder(Reward):
    """Counts its updates, and remembers what it was called with."""

    def __init__(self, name="Recorder", observation_spaces=()):
        super().__init__(name=name, observation_spaces=observation_spaces)
        self.resets = []
        self.updates = []

    def reset(self, benchmark, observation_view):
        self.resets.append((benchmark, observation_view))

    def update(self, actions, observations, observation_view):
        self.updates.append((actions, observations, observation_view))
        return float(len(self.updates))


@pytest.fixture
def env():
    return FakeEnv()


@pytest.fixture
def view(env):
    return RewardView([DefaultRewardFromObservation("Cost"), Recorder()], env.observation)


def test_spaces(view):
    assert list(view.spaces) == ["Cost", "Recorder"]
    assert repr(view) == "RewardView[Cost, Recorder]"
    assert {"Cost", "Recorder", "add_space"} <= set(dir(view))


def test_items_and_methods_advance_the_reward(view, env):
    assert view["Cost"] == 10
    assert view["Cost"] == 0
    env.cost = 25
    assert view.Cost() == 15
    assert view.Cost() == 0


def test_reset(view, env):
    other = FakeEnv()
    other.cost = 3
    assert view["Cost"] == 10
    view.reset(BENCHMARK, other.observation)
    assert view.spaces["Recorder"].resets == [(BENCHMARK, other.observation)]
    assert view["Cost"] == 3


def test_unknown_space(view):
    with pytest.raises(KeyError, match=r"'cost'.*Cost"):
        view["cost"]
    with pytest.raises(KeyError, match="Cost, Recorder"):
        view["Autophase"]
    with pytest.raises(AttributeError, match=r"Recordr.*Recorder"):
        view.Recordr()


def test_no_spaces(env):
    with pytest.raises(ValueError, match="reward spaces"):
        RewardView([], env.observation)["Cost"]


def test_add_space(view):
    view.add_space(Recorder("New"))
    assert view["New"] == 1
    replacement = Recorder("New")
    with pytest.warns(UserWarning, match="New"):
        view.add_space(replacement)
    assert view.spaces["New"] is replacement
