"""An environment of the toy service, which the tests of a module share."""

import pytest

from tests.service.toy_service import HELLO, make_toy_env


@pytest.fixture(scope="module")
def shared_env():
    with make_toy_env() as env:
        yield env


@pytest.fixture
def env(shared_env):
    shared_env.reset(
        benchmark=HELLO, action_space="Edit", observation_space="text", reward_space="length"
    )
    return shared_env
