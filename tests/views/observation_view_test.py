import copy

import numpy as np
import pytest

from compiler_gym.errors import ServiceError, SessionNotFound
from compiler_gym.service.proto import Event, Int64Range, ObservationSpace, Space, StringSpace
from compiler_gym.spaces import Scalar
from compiler_gym.views import ObservationView

SPACES = [
    ObservationSpace(name="Ir", space=Space(string_value=StringSpace())),
    ObservationSpace(name="Count", space=Space(int64_value=Int64Range(min=0))),
]


class FakeEnv:
    """Answers steps with prepared events, and remembers what it was asked for."""

    def __init__(self):
        self.events = [Event(string_value="define"), Event(int64_value=7)]
        self.done = False
        self.info = {}
        self.in_episode = True
        self.requests = []

    def raw_step(self, actions, observation_spaces, reward_spaces):
        if not self.in_episode:
            raise SessionNotFound("call env.reset() first")
        assert actions == [] and reward_spaces == []
        self.requests.append([spec.id for spec in observation_spaces])
        values = [spec.translate(self.events[spec.index]) for spec in observation_spaces]
        return values, [], self.done, self.info


@pytest.fixture
def env():
    return FakeEnv()


@pytest.fixture
def view(env):
    return ObservationView(env.raw_step, SPACES)


def test_spaces(view):
    assert list(view.spaces) == ["Ir", "Count"]
    assert view.spaces["Count"].index == 1
    assert view.spaces["Count"].space == Scalar(
        name="Count", min=0, max=np.iinfo(np.int64).max, dtype=np.int64
    )
    assert repr(view) == "ObservationView[Count, Ir]"


def test_items_and_methods(view, env):
    assert view["Ir"] == "define"
    assert view.Ir() == "define"
    assert view["Count"] == view.Count() == 7
    env.events[1].int64_value = 8
    assert view["Count"] == 8
    assert env.requests == [["Ir"], ["Ir"], ["Count"], ["Count"], ["Count"]]
    assert {"Ir", "Count", "spaces"} <= set(dir(view))


def test_several_in_one_request(view, env):
    assert view.observe(["Count", "Ir", "Count"]) == [7, "define", 7]
    assert view.observe([]) == []
    assert env.requests == [["Count", "Ir", "Count"], []]


def test_end_of_episode(view, env):
    env.done = True
    with pytest.raises(ServiceError, match="Ir: the episode has ended"):
        view["Ir"]


def test_derived_space(view, env):
    space = Scalar(name="Length", min=0, max=np.inf, dtype=np.int64)
    view.add_derived_space(id="Length", base_id="Ir", translate=len, space=space)
    assert view["Length"] == view.Length() == 6
    assert view.spaces["Length"].space is space
    assert view.spaces["Length"].index == 0
    view.add_derived_space(id="Length", base_id="Count", translate=lambda count: -count)
    assert view["Length"] == -7
    with pytest.raises(KeyError, match="Count"):
        view.add_derived_space(id="X", base_id="Cuont", translate=len)


def test_copy(view):
    duplicate = copy.copy(view)
    duplicate.spaces = dict(view.spaces)
    duplicate.add_derived_space(id="Length", base_id="Ir", translate=len)
    assert "Length" not in view.spaces
    assert copy.deepcopy(view)["Ir"] == "define"


def test_view_of_another_environment_has_spaces_of_its_own(view, env):
    other = view.copy(env.raw_step)
    other.add_derived_space(id="Length", base_id="Ir", translate=len)
    assert other["Length"] == 6
    assert "Length" not in view.spaces
