import gymnasium
import pytest

from compiler_gym.util import registration
from compiler_gym.util.registration import COMPILER_GYM_ENVS, register


@pytest.fixture
def register_for_test():
    """Registers environments until the end of the test."""
    ids = []

    def register_one(id, **kwargs):
        register(id=id, **kwargs)
        ids.append(id)
        return id

    yield register_one
    for id in ids:
        COMPILER_GYM_ENVS.remove(id)
        del registration._specs[id]
        del gymnasium.registry[id]


@pytest.fixture
def toy_id(register_for_test):
    """The id of an environment that edits texts."""
    return register_for_test(
        "toy-v0",
        entry_point="tests.service.toy_service:make_toy_env",
        kwargs={"observation_space": "histogram", "reward_space": "length"},
    )
