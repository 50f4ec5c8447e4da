import random
import threading
from itertools import islice

import pytest

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.errors import ServiceError
from compiler_gym.util.thread_pool import end_calls
from compiler_gym.validate import validate_states
from compiler_gym.validation_result import ValidationResult
from tests.processes import wait_until


class FakeEnv:
    """Fails to validate a state as its command line says.

    Args:
        meanwhile: Called with each state while it is being validated.
    """

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile
        self.thread = None
        self.closed = False
        self.validated = []

    def validate(self, state):
        assert not self.closed
        assert self.thread in (None, threading.get_ident()), "used by two threads"
        self.thread = threading.get_ident()
        self.meanwhile(state)
        errors = {"service": ServiceError, "lookup": LookupError, "bug": ZeroDivisionError}
        if state.commandline in errors:
            raise errors[state.commandline]("something went wrong")
        self.validated.append(state)
        return ValidationResult(state=state, reward_validated=True)

    def close(self):
        self.closed = True


class Maker:
    """Makes environments, and remembers them."""

    def __init__(self):
        self.envs = []
        self.meanwhile = lambda state: None

    def __call__(self):
        self.envs.append(FakeEnv(self.meanwhile))
        return self.envs[-1]


@pytest.fixture
def make_env():
    return Maker()


def states(count, **kwargs):
    values = {"commandline": "", "walltime": 0, **kwargs}
    return [CompilerEnvState(benchmark=f"test-v0/{i}", **values) for i in range(count)]


def benchmarks(results):
    return [result.state.benchmark for result in results]


@pytest.mark.parametrize("inorder", [False, True])
@pytest.mark.parametrize("nproc", [None, 1, 3, 100])
def test_every_state_is_validated_once(make_env, nproc, inorder):
    results = list(validate_states(make_env, iter(states(20)), nproc, inorder))
    expected = [f"benchmark://test-v0/{i}" for i in range(20)]
    assert sorted(benchmarks(results)) == sorted(expected)
    if inorder:
        assert benchmarks(results) == expected
    assert all(result.okay() and result.reward_validated for result in results)
    assert all(env.closed for env in make_env.envs)
    assert sum(len(env.validated) for env in make_env.envs) == 20


def test_random_generator_of_the_user_is_left_alone(make_env):
    before = random.getstate()
    list(validate_states(make_env, states(20)))
    assert random.getstate() == before


def test_environments_are_reused(make_env):
    list(validate_states(make_env, states(30), nproc=3))
    assert 1 <= len(make_env.envs) <= 3


def test_no_states(make_env):
    assert list(validate_states(make_env, [])) == []
    assert make_env.envs == []


@pytest.mark.parametrize("inorder", [False, True])
def test_results_come_as_they_are_ready(make_env, inorder):
    """The first state takes until the second has been validated."""
    second_is_done = threading.Event()

    def meanwhile(state):
        if state.benchmark.endswith("/0"):
            assert second_is_done.wait(100)

    make_env.meanwhile = meanwhile
    results = validate_states(make_env, states(2), nproc=2, inorder=inorder)
    if inorder:
        # Both have to be waited for, so that somebody else has to look.
        watcher = threading.Thread(target=_set_when_validated, args=(make_env, second_is_done))
        watcher.start()
        assert benchmarks(results) == ["benchmark://test-v0/0", "benchmark://test-v0/1"]
        watcher.join()
    else:
        assert benchmarks([next(results)]) == ["benchmark://test-v0/1"]
        second_is_done.set()
        assert benchmarks(results) == ["benchmark://test-v0/0"]


def _set_when_validated(make_env, event):
    wait_until(lambda: any(env.validated for env in [*make_env.envs]))
    event.set()


@pytest.mark.parametrize("kind, name", [("service", "ServiceError"), ("lookup", "LookupError")])
def test_failed_validation_is_a_result(make_env, kind, name):
    results = list(validate_states(make_env, states(1, commandline=kind) + states(2), inorder=True))
    assert [result.okay() for result in results] == [False, True, True]
    assert results[0].actions_replay_failed
    assert results[0].errors[0].type == name
    assert results[0].errors[0].data == {"details": "something went wrong"}


def test_bugs_are_raised(make_env):
    with pytest.raises(ZeroDivisionError):
        list(validate_states(make_env, states(3, commandline="bug"), nproc=2))
    assert all(env.closed for env in make_env.envs)


def test_failure_to_make_an_environment_is_raised():
    def make_env():
        raise ServiceError("no such service")

    with pytest.raises(ServiceError, match="no such service"):
        list(validate_states(make_env, states(3)))


@pytest.mark.parametrize("nproc", [0, -1])
def test_bad_number_of_processes(make_env, nproc):
    with pytest.raises(ValueError, match="must be positive"):
        validate_states(make_env, states(1), nproc=nproc)


def test_abandoned(make_env, monkeypatch):
    """Those under way are waited for, and no others are begun."""
    begun, closing = threading.Semaphore(10), threading.Event()

    def end(futures, owner):
        for future in futures:
            future.cancel()
        closing.set()
        end_calls(futures, owner)

    monkeypatch.setattr("compiler_gym.util.thread_pool.end_calls", end)
    make_env.meanwhile = lambda state: begun.acquire(blocking=False) or closing.wait()
    results = validate_states(make_env, states(1000), nproc=2)
    assert len(list(islice(results, 3))) == 3
    results.close()
    assert all(env.closed for env in make_env.envs)
    assert sum(len(env.validated) for env in make_env.envs) <= 12
