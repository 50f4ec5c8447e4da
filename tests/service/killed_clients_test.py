"""Tests that a service that others still use cleans up after clients that end.

Clients are killed in every state that lasts; fuzzing/killed_clients_test.py kills them in the
midst of requests. Their sessions and processes must end soon.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compiler_gym.compliance.target import unassigned_port
from compiler_gym.service import ClientServiceCompilerEnv, CompilerGymServiceConnection
from compiler_gym.service.transport.direct_channel import SWITCH_VARIABLE
from tests.effort import IS_LONG
from tests.processes import descendants, is_running, python_environment, wait_until
from tests.service.killed_client import FORKS
from tests.service.service_program import ServiceProgram
from tests.service.toy_service import HELLO, make_toy_env, open_sessions

APPEND_A = 3

# Each moment of killed_client.py that lasts, and how many sessions the client has then.
SESSIONS = {"connected": 0, "idle": 1, "looping": 1, "running": 1, "forked": 1 + FORKS}

# Then each process belongs to a session that is open, but for the service and its fork server.
NO_PROCESSES_IN_ADVANCE = ("--pristine_sessions_mib=0", "--spare_sessions=0")


# A service in Python has the same sockets and leases as one in C++, and processes of another kind.
# The long form alone tries all of it again.
IS_SHORT = "TOY_SERVICE" in os.environ and not IS_LONG
CHANNELS = ["direct channel"] if IS_SHORT else ["direct channel", "gRPC"]
of_one_service = pytest.mark.skipif(IS_SHORT, reason="holds for the service in C++")


@pytest.fixture(params=CHANNELS)
def channel(request, monkeypatch) -> str:
    """The channel of all clients, including those in other processes."""
    monkeypatch.setenv(SWITCH_VARIABLE, "1" if request.param == "direct channel" else "0")
    return request.param


@pytest.fixture
def service(tmp_path) -> Iterator[ServiceProgram]:
    service = ServiceProgram(tmp_path / "service", *NO_PROCESSES_IN_ADVANCE)
    yield service
    service.stop()


@pytest.fixture
def bystander(service, channel) -> Iterator[ClientServiceCompilerEnv]:
    """A client that plays all the while, and has two steps behind it."""
    with make_toy_env(service=service.address, observation_space="text") as env:
        env.reset(benchmark=HELLO)
        env.step(APPEND_A)
        assert env.step(APPEND_A)[0] == "helloaa"
        yield env


def start_client(service: ServiceProgram, moment: str) -> subprocess.Popen:
    """Starts a client, and returns it when it is in the middle of what it is to be killed in."""
    client = subprocess.Popen(
        [sys.executable, "-m", "tests.service.killed_client", service.address, moment],
        env=python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == f"{moment}\n"
    return client


def new_processes(service: ServiceProgram, former: list[int]) -> set[int]:
    """The processes of a service that were not there before. Some of those may have ended since."""
    return set(descendants(service.pid)) - set(former)


def directories_of(service: ServiceProgram) -> list[Path]:
    """The directories in the working directory of a service."""
    return sorted(path for path in service.socket.parent.rglob("*") if path.is_dir())


def wait_for_step(service: ServiceProgram, moment: str) -> None:
    """Waits until the service is at the step of a client that has announced it."""
    file = {"looping": "asleep", "running": "command.pid"}.get(moment)
    directory = service.socket.parent
    wait_until(lambda: file is None or any(directory.rglob(file)))


@pytest.mark.parametrize("moment", SESSIONS)
def test_killed_client(service, bystander, channel, moment):
    assert bystander.service.is_direct == (channel == "direct channel")
    directories = directories_of(service)
    processes = descendants(service.pid)
    assert open_sessions(bystander.service) == 1
    client = start_client(service, moment)
    wait_for_step(service, moment)
    assert open_sessions(bystander.service) == 1 + SESSIONS[moment]
    assert len(new_processes(service, processes)) >= SESSIONS[moment]
    client.kill()
    wait_until(lambda: open_sessions(bystander.service) == 1)
    wait_until(lambda: not new_processes(service, processes))
    wait_until(lambda: directories_of(service) == directories)
    assert bystander.step(APPEND_A)[:3] == ("helloaaa", None, False)
    client.communicate(timeout=100)


def test_child_that_outlives_its_parent_keeps_no_session(service, bystander, channel):
    client = start_client(service, "parent of a process")
    [child] = descendants(client.pid)
    assert open_sessions(bystander.service) == 2
    client.kill()
    wait_until(lambda: open_sessions(bystander.service) == 1)
    assert is_running(child)
    client.communicate(timeout=100)  # Which ends the child.
    wait_until(lambda: not is_running(child))


def test_closed_environment_leaves_nothing(service, bystander, channel):
    processes = descendants(service.pid)
    env = make_toy_env(service=service.address)
    env.reset(benchmark=HELLO)
    fork = env.fork()
    fork.step(APPEND_A)
    assert open_sessions(bystander.service) == 3
    env.close()
    assert open_sessions(bystander.service) == 2
    assert fork.step(APPEND_A)[2] is False
    fork.close()
    assert open_sessions(bystander.service) == 1
    wait_until(lambda: not new_processes(service, processes))


def start_at_a_port(tmp_path: Path) -> ServiceProgram:
    """Starts a service at a port that nobody takes when it ends."""
    port = f"--port={unassigned_port()}"
    return ServiceProgram(tmp_path / "service", port, *NO_PROCESSES_IN_ADVANCE)


def restart(service: ServiceProgram) -> ServiceProgram:
    """Ends a service, and starts another one at the same address."""
    service.kill()
    directory = service.socket.parent.with_name("restarted")
    return ServiceProgram(directory, f"--port={service.port}", *NO_PROCESSES_IN_ADVANCE)


@of_one_service
@pytest.mark.parametrize("notices", [True, False])
def test_reset_after_the_service_was_restarted(tmp_path, channel, notices):
    service = start_at_a_port(tmp_path)
    with make_toy_env(service=service.address, observation_space="text") as env:
        env.reset(benchmark=HELLO)
        service = restart(service)
        if notices:
            assert env.step(APPEND_A)[2]
        assert env.reset(benchmark=HELLO) == "hello"
        assert env.step(APPEND_A)[0] == "helloa"
        with CompilerGymServiceConnection(service.address) as observer:
            assert open_sessions(observer) == 1
            env.close()
            wait_until(lambda: open_sessions(observer) == 0)
    service.stop()


@of_one_service
def test_lease_of_a_former_service_is_not_that_of_another_client(tmp_path, channel):
    """A session that goes by a number of before must not end with somebody else."""
    service = start_at_a_port(tmp_path)
    with CompilerGymServiceConnection(service.address) as connection:
        former = connection.lease_id
    service = restart(service)
    with CompilerGymServiceConnection(service.address) as connection:
        assert connection.lease_id != former
    service.stop()


LOSSES: dict[str, Callable[[CompilerGymServiceConnection], None]] = {
    "noticed": lambda connection: connection._lease.cancel(),
    # As when the service has found the network interrupted, and this process has not yet.
    "not noticed": lambda connection: setattr(connection._lease, "_number", 9999),
}


@of_one_service
@pytest.mark.parametrize("loss", LOSSES)
def test_reset_after_the_lease_was_lost(service, bystander, channel, loss):
    with make_toy_env(service=service.address, observation_space="text") as env:
        env.reset(benchmark=HELLO)
        LOSSES[loss](env.service)
        if loss == "noticed":
            wait_until(lambda: open_sessions(bystander.service) == 1)
            # The process of the session ends a moment after the service has given it up.
            wait_until(lambda: env.step(APPEND_A)[2])
        assert env.reset() == "hello"
        assert env.step(APPEND_A)[0] == "helloa"
        # A lease that is held is not opened again.
        lease_id = env.service.lease_id
        env.reset()
        assert env.service.lease_id == lease_id
    wait_until(lambda: open_sessions(bystander.service) == 1)


@of_one_service
def test_a_restart_takes_a_new_lease(channel):
    with make_toy_env(observation_space="text") as env:
        env.reset(benchmark=HELLO)
        env.service.restart()
        lease_id = env.service.lease_id
        assert lease_id > 0
        assert env.service.lease_id == lease_id
        assert env.reset() == "hello"
        assert env.step(APPEND_A)[0] == "helloa"
