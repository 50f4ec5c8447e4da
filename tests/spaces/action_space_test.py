import copy
import pickle

import gymnasium
import numpy as np
import pytest

from compiler_gym.spaces import ActionSpace, Dict, Discrete, NamedDiscrete, Scalar


@pytest.fixture
def names():
    return ActionSpace(NamedDiscrete(["a", "b", "c"], "names"))


def test_stands_in_for_the_other(names):
    assert isinstance(names, gymnasium.spaces.Space)
    assert names.wrapped == NamedDiscrete(["a", "b", "c"], "names")
    assert (names.n, names.name, names.names) == (3, "names", ["a", "b", "c"])
    assert names["b"] == 1
    assert names.shape == ()
    assert names.dtype == np.int64
    assert names.is_np_flattenable
    assert names.np_random is names.wrapped.np_random
    assert names.from_jsonable(names.to_jsonable([0, 1])) == [0, 1]
    with pytest.raises(AttributeError, match="no_such_attribute"):
        _ = names.no_such_attribute


def test_sample(names):
    names.seed(0)
    samples = [names.sample() for _ in range(20)]
    assert set(samples) == {0, 1, 2}
    names.seed(0)
    assert samples == [names.sample() for _ in range(20)]
    assert names.sample(mask=np.array([0, 1, 0], np.int8)) == 1
    assert Dict({"x": names}).sample()["x"] in names


def test_spelling_of_the_space(names):
    assert names.to_string([0, 2]) == "a c"
    assert names.from_string("a c") == [0, 2]


@pytest.mark.parametrize(
    ("space", "actions", "text"),
    [
        (Discrete(5), [1, 4, 0], "1,4,0"),
        (Discrete(5), [], ""),
        (Scalar("s", -1, 1), [0.5, -1.0], "0.5,-1.0"),
        (Scalar("s", dtype=bool), [True, False], "True,False"),
    ],
)
def test_spelling_by_default(space, actions, text):
    proxy = ActionSpace(space)
    assert proxy.to_string(actions) == text
    assert proxy.from_string(text) == actions
    assert proxy.from_string(text.replace(",", ", ")) == actions


def test_equality(names):
    assert names == ActionSpace(NamedDiscrete(["a", "b", "c"], "names"))
    assert names == NamedDiscrete(["a", "b", "c"], "names")
    assert names != ActionSpace(NamedDiscrete(["a", "b", "c"], "x"))
    assert names == copy.deepcopy(names) == pickle.loads(pickle.dumps(names))
    assert repr(names) == "ActionSpace(NamedDiscrete(['a', 'b', 'c'], name='names'))"
