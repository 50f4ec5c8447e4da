import pytest

import compiler_gym
from tests.envs.llvm.game_program import game_program


@pytest.fixture(scope="module")
def shared_env(request):
    """The environment of a module's ``ID``. Skips without LLVM 22."""
    with compiler_gym.make(request.module.ID, benchmark=game_program()) as env:
        try:
            env.reset()
        except NotImplementedError as error:
            pytest.skip(str(error))
        yield env


@pytest.fixture
def env(shared_env):
    with shared_env.sibling() as env:
        env.reset()
        yield env
