"""Clients of one service that are killed at random moments.

A service that others share keeps nothing of theirs, and nobody else notices.
"""

import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from compiler_gym.service import ClientServiceCompilerEnv
from tests.fuzzing.fuzzing import SECONDS, SEED
from tests.processes import descendants, is_running, wait_until
from tests.service import killed_client
from tests.service.service_program import ServiceProgram
from tests.service.toy_service import HELLO, make_toy_env, open_sessions

# A client that leaves a process of its own behind has a test of its own.
MOMENTS = sorted(killed_client.MOMENTS.keys() - {"parent of a process"})
AT_ONCE = 4
MIN_CLIENTS = 24
# Clients that are killed before anything is measured, by both channels at each moment, so that what
# a service keeps for the next client (sessions made in advance, memory, threads) is there before
# and after.
WARM_UP_CLIENTS = 2 * len(MOMENTS)
# The longest time between what a client announces and its end.
MAX_LIFE_SECONDS = 0.05
_WATCH_SECONDS = 1
_PATIENCE_SECONDS = 60


def play(caches: dict[str, str], address: str, moment: str, direct: bool, pipe: Connection) -> None:
    """A client, in a process of its own."""
    os.environ.update(caches)
    killed_client.play(address, moment, direct, announce=lambda: pipe.send(moment))


class Killer:
    """Starts clients of a service and kills them, some at a time.

    Args:
        folder: For the caches of clients that have a service of their own.
        address: That of the service.
    """

    def __init__(self, folder: Path, address: str):
        self._address = address
        self._caches = {
            variable: str(folder / variable)
            for variable in ("COMPILER_GYM_TRANSIENT_CACHE", "COMPILER_GYM_CACHE")
        }
        self._random = random.Random(SEED)
        self._lock = threading.Lock()
        # What starts a process also looks how others have ended, which must be read only once.
        self._starts = threading.Lock()
        # Each client is forked from a process that has imported everything, and made nothing yet.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.service.killed_client"])

    def kill(self, numbers: Iterator[int]) -> None:
        """Kills a client for each number, by half of them in each channel."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for killer in [pool.submit(self._kill_from, numbers) for _ in range(AT_ONCE)]:
                killer.result()

    def _kill_from(self, numbers: Iterator[int]) -> None:
        while True:
            with self._lock:
                number = next(numbers, None)
                life = self._random.uniform(0, MAX_LIFE_SECONDS)
            if number is None:
                return
            self._kill_one(MOMENTS[number // 2 % len(MOMENTS)], number % 2 == 0, life)

    def _kill_one(self, moment: str, direct: bool, life: float) -> None:
        here, there = self._context.Pipe(duplex=False)
        arguments = (self._caches, self._address, moment, direct, there)
        client = self._context.Process(target=play, args=arguments, daemon=True)
        with here:
            with there, self._starts:
                client.start()
            assert here.poll(_PATIENCE_SECONDS), moment
            time.sleep(life)
        client.kill()
        with self._starts:
            client.join(_PATIENCE_SECONDS)
        assert client.exitcode == -signal.SIGKILL, moment


def watch(address: str, is_over: threading.Event) -> int:
    """Plays one long episode, and others meanwhile. Returns how many, at least one."""
    episodes = 0
    with (
        make_toy_env(service=address, observation_space="text") as long,
        make_toy_env(service=address, observation_space="text") as short,
    ):
        rotate, append = (long.action_space.names.index(x) for x in ["rotate", "append-a"])
        text = long.reset(benchmark=HELLO)
        while not (is_over.is_set() and episodes):
            text = text[1:] + text[:1]
            short.reset(benchmark=HELLO)
            assert [long.step(rotate)[0], short.step(append)[0]] == [text, "helloa"]
            episodes += 1
            time.sleep(0.01)
    return episodes


def settled_processes(service: ServiceProgram, observer: ClientServiceCompilerEnv) -> int:
    """Returns the number of processes when only the observer has a session and nothing changes."""
    # To count the sessions starts one, after which the service makes another in advance.
    wait_until(lambda: open_sessions(observer.service) == 1)
    last, since = len(descendants(service.pid)), time.monotonic()
    while time.monotonic() - since < _WATCH_SECONDS:
        time.sleep(0.1)
        if (now := len(descendants(service.pid))) != last:
            last, since = now, time.monotonic()
    return last


def numbers() -> Iterator[int]:
    """Counts until there were enough clients, and as long as the fuzzers are to go on."""
    end = time.monotonic() + SECONDS
    for number in count():
        if number >= MIN_CLIENTS and time.monotonic() > end:
            return
        yield number


@pytest.mark.timeout(max(300, 30 * SECONDS))
def test_killed_clients(tmp_path):
    service = ServiceProgram(tmp_path / "service")
    try:
        killer = Killer(tmp_path, service.address)
        is_over = threading.Event()
        with make_toy_env(service=service.address) as observer, ThreadPoolExecutor(1) as pool:
            observer.reset(benchmark=HELLO)
            killer.kill(iter(range(WARM_UP_CLIENTS)))
            processes = settled_processes(service, observer)
            bystander = pool.submit(watch, service.address, is_over)
            try:
                killer.kill(numbers())
            finally:
                is_over.set()
            assert bystander.result() > 0
            wait_until(lambda: settled_processes(service, observer) <= processes)
        left = [service.pid, *descendants(service.pid)]
        service.stop()
        wait_until(lambda: not any(map(is_running, left)))
    finally:
        service.kill()
