"""Tests of the settable attributes of environments."""

from compiler_gym.util.env_spec import is_setting


class Environment:
    def __init__(self):
        self.recover = False
        self._hidden = 1

    @property
    def costly(self):
        raise AssertionError("This is not to be asked")

    def step(self):
        pass


class Wrapper:
    def __init__(self, env):
        self.env = env
        self.memory = {}

    @property
    def limit(self):
        return 3


def test_environment():
    env = Environment()
    assert is_setting(env, "recover")
    assert is_setting(env, "costly")
    assert not is_setting(env, "_hidden")
    assert not is_setting(env, "step")
    assert not is_setting(env, "no_such")


def test_wrappers():
    env = Wrapper(Wrapper(Environment()))
    assert is_setting(env, "recover")
    assert is_setting(env, "costly")
    assert is_setting(env, "limit")
    assert is_setting(env.env, "limit")
    assert not is_setting(env, "memory")
    assert not is_setting(env, "env")
    assert not is_setting(env, "_hidden")
