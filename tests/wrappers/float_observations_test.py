import numpy as np
import pytest
from gymnasium import spaces

from compiler_gym.spaces import Scalar
from compiler_gym.spaces.conversions import array_space, array_value
from compiler_gym.wrappers import FloatObservations
from tests.service.toy_service import HELLO, make_toy_env

SPACES = [
    (Scalar(min=0, max=9, dtype=np.int64), 4),
    (spaces.Box(0, 9, shape=(2, 3), dtype=np.int64), np.arange(6).reshape(2, 3)),
    (spaces.Dict({"a": Scalar(dtype=np.int64), "b": spaces.Discrete(3)}), {"a": 5, "b": 2}),
    (spaces.Tuple([Scalar(min=0.5), spaces.Box(0, 1, shape=(1,))]), (0.75, np.zeros(1))),
]


@pytest.mark.parametrize("dtype", [None, np.float32])
@pytest.mark.parametrize("space, value", SPACES)
def test_values_are_in_the_space(space, value, dtype):
    converted = array_space(space, dtype)
    assert array_value(converted, value) in converted
    for box in _boxes(converted):
        assert type(box) is spaces.Box and len(box.shape) >= 1
        assert dtype is None or box.dtype == dtype


def _boxes(space):
    if isinstance(space, spaces.Box):
        return [space]
    children = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
    return [child for child in children if isinstance(child, spaces.Box)]


def test_wrapper():
    with FloatObservations(make_toy_env(benchmark=HELLO, observation_space="histogram")) as env:
        observation = env.reset()
        assert observation.dtype == np.float32 and observation in env.observation_space
        observation, *_ = env.step(3)
        assert observation.dtype == np.float32 and observation.sum() == 6
        assert env.step(3, observation_spaces=["length"])[0] == [7]
        env.observation_space = "length"
        assert env.observation_space.shape == (1,)
        np.testing.assert_array_equal(env.step(3)[0], np.array([8], np.float32))
        env.observation_space = "text"
        assert env.step(3)[0] == "helloaaaa"
        env.observation_space = None
        assert env.observation_space is None and env.step(3)[0] is None
        with pytest.raises(TypeError, match="'text'"):
            env.observation_space = ["text", "length"]
