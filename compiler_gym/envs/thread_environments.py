"""Environments for the threads of a pool, because environments are not thread-safe."""

import threading
from collections.abc import Callable
from contextlib import ExitStack

from compiler_gym.envs.compiler_env import CompilerEnv


class ThreadEnvironments:
    """Creates an environment for each thread on demand.

    Args:
        make_env: Makes an environment.
    """

    def __init__(self, make_env: Callable[[], CompilerEnv]):
        self._make_env = make_env
        self._lock = threading.Lock()
        self._local = threading.local()
        self._exit_stack = ExitStack()

    def get(self) -> CompilerEnv:
        """Returns the environment of the calling thread."""
        if not hasattr(self._local, "env"):
            with self._lock:
                self._local.env = self._make_env()
                self._exit_stack.callback(self._local.env.close)
        return self._local.env

    def close(self) -> None:
        """Closes all environments. No thread may use one any more."""
        self._exit_stack.close()
