"""A client of a running toy service that plays until it is killed::

    python -m tests.service.killed_client 127.0.0.1:PORT MOMENT

To be killed at the moment of that name (:data:`MOMENTS`), any time after it has said so.
"""

import os
import sys
import time
from collections.abc import Callable

from compiler_gym.service import ClientServiceCompilerEnv
from compiler_gym.service.transport.direct_channel import SWITCH_VARIABLE
from tests.service.toy_service import HELLO, make_toy_env

FORKS = 3
# Nobody lets a client live for so long.
_MAX_SECONDS = 600


def _await_death() -> None:
    time.sleep(_MAX_SECONDS)


def _connecting(address: str, announce: Callable[[], None]) -> None:
    announce()
    while True:
        make_toy_env(service=address).close()


def _connected(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address):
        announce()
        _await_death()


def _resetting(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        announce()
        while True:
            env.reset(benchmark=HELLO)


def _idle(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        _step(env, "append-a")
        announce()
        _await_death()


def _stepping(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        announce()
        while True:
            _step(env, "rotate")


def _looping(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        announce()
        _step(env, "loop")


def _running(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        announce()
        _step(env, "run")


def _forked(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        forks = [env.fork() for _ in range(FORKS)]
        for fork in forks:
            _step(fork, "append-a")
        announce()
        _await_death()


def _forking(address: str, announce: Callable[[], None]) -> None:
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        announce()
        while True:
            env.fork().close()


def _managing(_address: str, announce: Callable[[], None]) -> None:
    """Has a service of its own, too, with a working directory in the cache of the user."""
    with make_toy_env(benchmark=HELLO) as env:
        env.reset()
        announce()
        while True:
            _step(env, "rotate")


def _parent_of_process(address: str, announce: Callable[[], None]) -> None:
    """Has a child that outlives it, and ends when the standard input is closed."""
    with make_toy_env(service=address) as env:
        env.reset(benchmark=HELLO)
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        announce()
        _await_death()


def _step(env: ClientServiceCompilerEnv, action: str) -> None:
    env.step(env.action_space.names.index(action), timeout=_MAX_SECONDS)


#: What a client does while it is killed, by name: it takes the address of the service, and a
#: function to call when it may be killed.
MOMENTS: dict[str, Callable[[str, Callable[[], None]], None]] = {
    "connecting": _connecting,
    "connected": _connected,
    "resetting": _resetting,
    "idle": _idle,
    "stepping": _stepping,
    "looping": _looping,
    "running": _running,
    "forked": _forked,
    "forking": _forking,
    "managing": _managing,
    "parent of a process": _parent_of_process,
}


def play(address: str, moment: str, direct: bool, announce: Callable[[], None]) -> None:
    """Plays until this process is killed.

    Args:
        address: That of the service.
        moment: A key of :data:`MOMENTS`.
        direct: Whether to use the direct channel, rather than gRPC alone.
        announce: Called when the process may be killed.
    """
    os.environ[SWITCH_VARIABLE] = "1" if direct else "0"
    MOMENTS[moment](address, announce)


def main() -> None:
    """Reads the command line, and plays. The environment says which channel to use."""
    address, moment = sys.argv[1:]
    MOMENTS[moment](address, lambda: print(moment, flush=True))


if __name__ == "__main__":
    main()
