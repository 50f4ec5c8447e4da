"""The interface of environments."""

import inspect

import pytest

from compiler_gym.envs.compiler_env import UNCHANGED, CompilerEnv, OptionalArgumentValue
from compiler_gym.service import ClientServiceCompilerEnv


def test_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        CompilerEnv()


def test_unchanged():
    assert UNCHANGED is OptionalArgumentValue.UNCHANGED


@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(CompilerEnv, inspect.isfunction)]
)
def test_the_order_of_arguments_is_that_of_the_interface(name):
    declared = inspect.signature(getattr(CompilerEnv, name))
    implemented = inspect.signature(getattr(ClientServiceCompilerEnv, name))
    assert list(implemented.parameters) == list(declared.parameters) or name == "__init__"


@pytest.mark.parametrize(
    "name",
    [
        "action_space",
        "benchmark",
        "datasets",
        "episode_reward",
        "observation",
        "observation_space",
        "observation_space_spec",
        "reward",
        "reward_space",
        "reward_space_spec",
    ],
)
def test_settable(name):
    assert getattr(ClientServiceCompilerEnv, name).fset is not None


# The docstring of the class has the attributes that are None by default.
ATTRIBUTES = ["render_mode", "spec"]


@pytest.mark.parametrize(
    "name",
    [name for name in dir(CompilerEnv) if not name.startswith("_") and name not in ATTRIBUTES],
)
def test_documented(name):
    assert inspect.getdoc(getattr(CompilerEnv, name))
