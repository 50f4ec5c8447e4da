"""Rollouts of which processes are killed or interrupted: no action is to blame."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler_gym
from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.service import ConnectionOpts
from tests.processes import children, is_running, wait_until

APPEND_A, SLEEP, CRASH = 3, 10, 14
LENGTH = 3  # Of an episode.


class SingleEnvironment:
    """An environment behind an interface as of a vector environment of one."""

    def __init__(self, id: str, settings: ConnectionOpts):
        env = compiler_gym.make(id, observation_space="text", connection_settings=settings)
        self.envs = [GymnasiumEnv(env)]
        self._steps = 0

    def reset(self) -> None:
        self._steps = 0
        self.envs[0].reset()

    def step(self, actions: list[int]) -> Any:
        self._steps += 1
        observation, reward, terminated, truncated, info = self.envs[0].step(actions[0])
        truncated = truncated or self._steps == LENGTH
        infos = {"final_obs": [observation], "final_info": info}
        if terminated or truncated:
            self.reset()
        return None, np.array([reward]), np.array([terminated]), np.array([truncated]), infos

    def close(self) -> None:
        self.envs[0].close()


@pytest.fixture(params=["single", "vector of 1", "vector of 2"])
def envs(request, toy_id):
    settings = ConnectionOpts(rpc_max_retries=0, retry_wait_seconds=0)
    if request.param == "single":
        envs: Any = SingleEnvironment(toy_id, settings)
    else:
        envs = compiler_gym.make_vec(
            toy_id,
            int(request.param[-1]),
            autoreset_mode="SameStep",
            max_episode_steps=LENGTH,
            observation_space="text",
            connection_settings=settings,
        )
    yield envs
    envs.close()


def kill(*pids: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # That of an episode before has ended.
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, pids)))


def kill_sessions(service: int) -> None:
    (fork_server,) = children(service)
    kill(*children(fork_server))


def kill_fork_server(service: int) -> None:
    kill(*children(service))


def interrupt(service: int) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def when_asleep(envs: Any, act: Callable[[int], None]) -> threading.Thread:
    """Does something to the service as soon as the action "sleep" is at work in all sessions."""
    for env in envs.envs:
        env.send_param("toy.set_sleep_milliseconds", "1000000")
    service = envs.envs[0].service.service

    def is_asleep() -> bool:
        # One that is alone waits in one go with sending.
        are_sent = len(envs.envs) == 1 or len(envs._steps.running) == len(envs.envs)
        return are_sent and any(service.working_dir.glob("**/asleep"))

    def run() -> None:
        wait_until(is_asleep)
        act(service.pid)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def play_until(envs: Any, position: int) -> str:
    """Goes through an episode, and to a position in the next one, whose text it returns."""
    envs.reset()
    for _ in range(LENGTH + position):
        _, _, terminated, _, _ = envs.step([APPEND_A] * len(envs.envs))
        assert not terminated.any()
    return "hello" + "a" * position


def check_loss(result: Any, text: str, error_types: set[str]) -> dict[str, Any]:
    _, rewards, terminated, truncated, infos = result
    assert rewards.tolist() == [0] * len(rewards)
    assert not terminated.any()
    assert truncated.all()
    assert list(infos["final_obs"]) == [text] * len(rewards)
    final = infos["final_info"]
    assert set(np.atleast_1d(final["error_type"])) <= error_types
    for details in np.atleast_1d(final["error_details"]):
        assert details
        assert "sleep" not in details
        assert "Reproducer" not in details
    return final


@pytest.mark.parametrize("position", range(LENGTH), ids=["first", "middle", "last"])
class TestRollout:
    @pytest.mark.parametrize(
        ("victim", "error_types"),
        [(kill_sessions, {"SessionLost"}), (kill, {"ServiceIsClosed", "ServiceTransportError"})],
    )
    def test_kill_in_a_step(self, envs, position, victim, error_types):
        text = play_until(envs, position)
        thread = when_asleep(envs, victim)
        result = envs.step([SLEEP] * len(envs.envs))
        thread.join()
        check_loss(result, text, error_types)
        assert play_until(envs, 0) == "hello"
        assert len({env.service for env in envs.envs}) == 1

    @pytest.mark.parametrize("envs", ["single", "vector of 2"], indirect=True)
    def test_kill_of_the_fork_server(self, envs, position):
        text = play_until(envs, position)
        thread = when_asleep(envs, kill_fork_server)
        result = envs.step([SLEEP] * len(envs.envs))
        thread.join()
        check_loss(result, text, {"SessionLost", "ServiceIsClosed", "ServiceTransportError"})
        assert play_until(envs, 0) == "hello"

    def test_kill_between_steps(self, envs, position):
        text = play_until(envs, position)
        kill_sessions(envs.envs[0].service.service.pid)
        final = check_loss(envs.step([APPEND_A] * len(envs.envs)), text, {"SessionLost"})
        assert "signal 9" in np.atleast_1d(final["error_details"])[0]

    def test_interrupt(self, envs, position):
        text = play_until(envs, position)
        thread = when_asleep(envs, interrupt)
        with pytest.raises(KeyboardInterrupt):
            envs.step([SLEEP] * len(envs.envs))
        thread.join()
        if len(envs.envs) == 1:
            final = check_loss(envs.step([APPEND_A]), text, {"SessionLost"})
            assert "Ctrl-C" in np.atleast_1d(final["error_details"])[0]
        else:
            # These lose no result, so that nothing has happened unless they are killed.
            kill_sessions(envs.envs[0].service.service.pid)
            check_loss(envs.recv(min_ready=2), text, {"SessionLost"})

    def test_crash(self, envs, position):
        """It is the action that is to blame, and takes back the rewards of the episode."""
        play_until(envs, position)
        _, rewards, terminated, truncated, infos = envs.step([CRASH] * len(envs.envs))
        assert rewards.tolist() == [-len("hello" + "a" * position) if position else 0] * len(
            envs.envs
        )
        assert terminated.all()
        assert list(infos["final_obs"]) == [""] * len(envs.envs)
        details = np.atleast_1d(infos["final_info"]["error_details"])[0]
        assert "in action 'crash'" in details
        # What is limited to so many steps is so whatever ended it.
        assert truncated.all() == (position == LENGTH - 1)
