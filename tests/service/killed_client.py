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


def _step(env: ClientServiceCompilerEnv, action: str) -> None:
    env.step(env.action_space.names.index(action), timeout=_MAX_SECONDS)


def _reset(env: ClientServiceCompilerEnv) -> ClientServiceCompilerEnv:
    env.reset(benchmark=HELLO)
    return env


def _idle(env: ClientServiceCompilerEnv) -> None:
    _step(_reset(env), "append-a")


def _forked(env: ClientServiceCompilerEnv) -> list[ClientServiceCompilerEnv]:
    forks = [_reset(env).fork(), *(env.fork() for _ in range(FORKS - 1))]
    for fork in forks:
        _step(fork, "append-a")
    return forks


def _parent_of_process(env: ClientServiceCompilerEnv) -> None:
    """Has a child that outlives it, and ends when the standard input is closed."""
    _reset(env)
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)


def _await_death(_subject: object) -> None:
    time.sleep(_MAX_SECONDS)


#: What a client does before it says that it may be killed, and then, with the result of that, over
#: and over again.
MOMENTS: dict[str, tuple[Callable[[ClientServiceCompilerEnv], object], Callable[..., object]]] = {
    "connecting": (_reset, lambda env: make_toy_env(service=env.service.connection.url).close()),
    "connected": (lambda env: env, _await_death),
    "resetting": (lambda env: env, _reset),
    "idle": (_idle, _await_death),
    "stepping": (_reset, lambda env: _step(env, "rotate")),
    "looping": (_reset, lambda env: _step(env, "loop")),
    "running": (_reset, lambda env: _step(env, "run")),
    "forked": (_forked, _await_death),
    "forking": (_reset, lambda env: env.fork().close()),
    # With a service of its own, too, with a working directory in the cache of the user.
    "managing": (_reset, lambda env: _step(env, "rotate")),
    "parent of a process": (_parent_of_process, _await_death),
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
    _play(address, moment, announce)


def _play(address: str, moment: str, announce: Callable[[], None]) -> None:
    prepare, act = MOMENTS[moment]
    service = {} if moment == "managing" else {"service": address}
    with make_toy_env(**service) as env:
        subject = prepare(env)
        announce()
        while True:
            act(subject)


def main() -> None:
    """Reads the command line, and plays. The environment says which channel to use."""
    address, moment = sys.argv[1:]
    _play(address, moment, lambda: print(moment, flush=True))


if __name__ == "__main__":
    main()
