"""Environments in another process than the one that made them."""

import pickle
import subprocess
import sys

import pytest

from compiler_gym.compiler_env_state import CompilerEnvState
from tests.processes import python_environment
from tests.service.toy_service import HELLO, make_toy_env, toy_service

# A process of its own, because forking that of the tests would be at the mercy of gRPC's handlers.
SCRIPT = """
import os, sys
from compiler_gym.service import ClientServiceCompilerEnv
from tests.processes import python_environment
from tests.service.toy_service import HELLO, make_toy_env

USES = {
    "step": lambda env: env.step(3),
    "multistep": lambda env: env.multistep([]),
    "reset": lambda env: env.reset(),
    "observation": lambda env: env.observation["text"],
    "fork": lambda env: env.fork(),
    "validate": lambda env: env.validate(),
    "send_param": lambda env: env.send_param("toy.get_sleep_milliseconds", ""),
    "service": lambda env: env.service,
    "close": lambda env: env.close(),
    "reset after close": lambda env: env.reset(),
}

def attempt(env, use):
    try:
        use(env)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"

env = make_toy_env(benchmark=HELLO, observation_space="text")
env.reset()
env.step(3)
# A second session that ends with the next request, which must not be one of the child.
other = env.fork()
child = os.fork()
if child == 0:
    for use in sys.argv[1:]:
        print(attempt(env, USES[use]), flush=True)
    del env, other
    os._exit(0)
os.waitpid(child, 0)
assert env.step(3)[:1] == ("helloaa",), "the parent's session was disturbed"
assert other.step(3)[:1] == ("helloaa",), "the parent's other session was disturbed"
assert env.reset() == "hello"
pid = env.service.service.pid
os.kill(pid, 0)
env.close()
other.close()
print("undisturbed")
"""


REFUSED = ["step", "multistep", "observation", "fork", "validate", "send_param", "service", "reset"]


def test_inherited_environments_are_refused():
    *errors, verdict = in_forked_process(*REFUSED, "close", "reset after close")
    assert errors.pop(-2) == "no error"
    assert len(errors) == len(REFUSED) + 1
    for error in errors:
        assert error.startswith("ServiceIsClosed: This environment belongs to another process")
    assert verdict == "undisturbed"


@pytest.mark.parametrize("uses", [[], ["close"]])
def test_inherited_environments_can_be_let_go(uses):
    assert in_forked_process(*uses) == [*["no error"] * len(uses), "undisturbed"]


def in_forked_process(*uses: str) -> list[str]:
    """Uses an environment in a fork of the process that made it; returns what both say then."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *uses],
        env=python_environment(TOY_SERVICE=str(toy_service())),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_environments_are_not_pickled_but_states_are():
    with make_toy_env(benchmark=HELLO, observation_space="text") as env:
        env.reset()
        env.step(3)
        with pytest.raises(TypeError, match=r"env\.state"):
            pickle.dumps(env)
        state = pickle.loads(pickle.dumps(env.state))
        assert isinstance(state, CompilerEnvState)
        env.reset()
        env.apply(state)
        assert env.observation["text"] == "helloa"
