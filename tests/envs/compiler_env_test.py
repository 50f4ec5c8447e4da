import inspect

import pytest

from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.service import ClientServiceCompilerEnv


@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(CompilerEnv, inspect.isfunction)]
)
def test_the_order_of_arguments_is_that_of_the_interface(name):
    declared = inspect.signature(getattr(CompilerEnv, name))
    implemented = inspect.signature(getattr(ClientServiceCompilerEnv, name))
    assert list(implemented.parameters) == list(declared.parameters) or name == "__init__"


# The docstring of the class has the attributes that are None by default.
ATTRIBUTES = ["render_mode", "spec"]


@pytest.mark.parametrize(
    "name",
    [name for name in dir(CompilerEnv) if not name.startswith("_") and name not in ATTRIBUTES],
)
def test_documented(name):
    assert inspect.getdoc(getattr(CompilerEnv, name))
