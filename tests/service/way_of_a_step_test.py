"""The files that a step passes through on its way from ``step()`` to the socket."""

import sys
from pathlib import Path

import pytest

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.service.transport.frame_socket import FrameSocket
from tests.service.toy_service import HELLO, make_toy_env

APPEND_A = 3

# As docs/contributing/architecture.md draws it.
WAY = [
    "gymnasium_adapter.py",
    "client_service_compiler_env.py",
    "episode_runner.py",
    "session.py",
    "frame_socket.py",
]


@pytest.fixture(name="files")
def fixture_files(monkeypatch):
    """The files on the stack when a frame is sent, outermost first, each once."""
    files = []
    send = FrameSocket._send_some

    def noting_send(sock, data):
        frame = sys._getframe(1)
        while frame is not None and Path(frame.f_code.co_filename) != Path(__file__):
            files.insert(0, Path(frame.f_code.co_filename).name)
            frame = frame.f_back
        return send(sock, data)

    monkeypatch.setattr(FrameSocket, "_send_some", noting_send)
    return files


def test_step(files):
    with make_toy_env(benchmark=HELLO, observation_space="text", reward_space="length") as env:
        adapter = GymnasiumEnv(env)
        adapter.reset()
        files.clear()
        adapter.step(APPEND_A)
        assert [*dict.fromkeys(files)] == WAY
        files.clear()
        env.begin_multistep([APPEND_A]).result()
        assert [*dict.fromkeys(files)] == WAY[1:]
