"""Spaces of the classic gym library as elements of our Dict and Tuple."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.compat.classic_gym.spaces import as_classic_gym, as_gymnasium
from compiler_gym.spaces import ActionSpace, NamedDiscrete, Tuple

gym = pytest.importorskip("gym")
old, new = gym.spaces, gymnasium.spaces


def examples(spaces):
    """The same spaces of either library."""
    return [
        spaces.Box(0, 1, (2, 3)),
        spaces.Box(np.array([0, -5]), np.array([3, 5]), dtype=np.int64),
        spaces.Box(-np.inf, 0, (1,), np.float64),
        spaces.Discrete(5),
        spaces.Discrete(5, start=-2),
        spaces.MultiBinary(4),
        spaces.MultiBinary([2, 3]),
        spaces.MultiDiscrete([2, 3]),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.Text(5, charset="abc"),
        spaces.Tuple([spaces.Discrete(2)]),
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Tuple([spaces.Discrete(3)])}),
    ]


PAIRS = [*zip(examples(old), examples(new), strict=True)]


@pytest.mark.parametrize(("old_space", "new_space"), PAIRS, ids=lambda space: str(space)[:30])
def test_counterparts(old_space, new_space):
    space = as_gymnasium(old_space)
    assert type(space) is type(new_space)
    assert space == new_space
    assert (space.dtype, space.shape) == (new_space.dtype, new_space.shape)
    classic = as_classic_gym(new_space)
    if isinstance(new_space, (new.Text, new.Sequence)):
        assert classic is new_space
        classic = old_space
    assert isinstance(classic, type(old_space))
    assert classic == old_space
    assert as_gymnasium(classic) == new_space
    for each, other in ((space, new_space), (classic, old_space)):
        each.seed(0)
        assert all(each.sample() in other for _ in range(5))


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
