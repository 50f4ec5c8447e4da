"""Spaces of the classic gym library as elements of our Dict and Tuple."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.compat.classic_gym.spaces import as_classic_gym, as_gymnasium
from compiler_gym.spaces import ActionSpace, NamedDiscrete, Tuple

gym = pytest.importorskip("gym")
old, new = gym.spaces, gymnasium.spaces

PAIRS = [
    (old.Box(0, 1, (2, 3)), new.Box(0, 1, (2, 3))),
    (
        old.Box(np.array([0, -5]), np.array([3, 5]), dtype=np.int64),
        new.Box(np.array([0, -5]), np.array([3, 5]), dtype=np.int64),
    ),
    (old.Box(-np.inf, 0, (1,), np.float64), new.Box(-np.inf, 0, (1,), np.float64)),
    (old.Discrete(5), new.Discrete(5)),
    (old.Discrete(5, start=-2), new.Discrete(5, start=-2)),
    (old.MultiBinary(4), new.MultiBinary(4)),
    (old.MultiBinary([2, 3]), new.MultiBinary([2, 3])),
    (old.MultiDiscrete([2, 3]), new.MultiDiscrete([2, 3])),
    (old.Sequence(old.Discrete(2)), new.Sequence(new.Discrete(2))),
    (old.Text(5, charset="abc"), new.Text(5, charset="abc")),
    (old.Tuple([old.Discrete(2)]), new.Tuple([new.Discrete(2)])),
    (
        old.Dict({"b": old.Discrete(2), "a": old.Tuple([old.Discrete(3)])}),
        new.Dict({"b": new.Discrete(2), "a": new.Tuple([new.Discrete(3)])}),
    ),
]


@pytest.mark.parametrize(("old_space", "new_space"), PAIRS, ids=lambda space: str(space)[:30])
def test_as_gymnasium(old_space, new_space):
    space = as_gymnasium(old_space)
    assert type(space) is type(new_space)
    assert space == new_space
    assert space.dtype == new_space.dtype
    assert space.shape == new_space.shape
    space.seed(0)
    for _ in range(5):
        assert space.sample() in new_space


@pytest.mark.parametrize(("old_space", "new_space"), PAIRS, ids=lambda space: str(space)[:30])
def test_as_classic_gym(old_space, new_space):
    if isinstance(new_space, (new.Text, new.Sequence)):
        assert as_classic_gym(new_space) is new_space
        return
    space = as_classic_gym(new_space)
    assert isinstance(space, type(old_space))
    assert space == old_space
    assert as_gymnasium(space) == new_space
    space.seed(0)
    for _ in range(5):
        assert space.sample() in old_space


def test_names_of_actions_stay():
    space = as_classic_gym(ActionSpace(NamedDiscrete(["a", "b"], "x")))
    assert (space.n, space.names, space.name, space["b"]) == (2, ["a", "b"], "x", 1)
    assert space.to_string([1, 0]) == "b a"
    with pytest.raises(AttributeError, match="no_such_attribute"):
        _ = space.no_such_attribute


def test_a_space_that_has_no_counterpart():
    class Mine(old.Space):
        pass

    with pytest.raises(TypeError, match=r"Mine.*gymnasium\.Space"):
        Tuple([Mine()])
