"""Tests that a service leaves no traces if its client ends in the middle of a step."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import descendants, is_running, wait_until
from tests.service.toy_service import toy_service

CLIENT = """
import sys
from tests.service.toy_service import HELLO, make_toy_env

env = make_toy_env(benchmark=HELLO)
env.reset()
action = env.action_space.names.index(sys.argv[1])
print("stepping", flush=True)
env.step(action, timeout=1000)
"""


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path))
    monkeypatch.setenv("TOY_SERVICE", str(toy_service()))
    return tmp_path / "s"


@pytest.mark.parametrize("action", ["loop", "run"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_client_ends_in_a_step(folder, action, number):
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, action], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"stepping\n"
    # The toy says when it loops or has started the command.
    wait_until(lambda: any(folder.rglob("asleep")) or any(folder.rglob("command.pid")))
    processes = descendants(client.pid)
    assert len(processes) >= 4  # The service, the fork server, a pristine session and a session.
    os.kill(client.pid, number)
    client.communicate(timeout=100)
    wait_until(lambda: not any(map(is_running, processes)))
    wait_until(lambda: list(folder.iterdir()) == [])
