"""The compiler that the workbenches of a process share."""

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

import compiler_gym
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.agents.verify import Verdict
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.explorer.workbench import short_name
from compiler_gym.service.connection_opts import ConnectionOpts

_MAX_VERDICTS = 10_000


class Compiler:
    """A service of the compiler, in which each program has a process of its own.

    Methods may be called from any thread.

    Args:
        limits: Its ``session_mib`` bounds the memory of each process.

    Raises:
        EnvironmentNotSupported: If the LLVM service is not built.
        ServiceInitError: If it does not start.
    """

    def __init__(self, limits: Limits):
        flags = [f"--session_memory_mib={limits.session_mib}"]
        env = compiler_gym.make("llvm-v0", connection_settings=ConnectionOpts(script_args=flags))
        assert isinstance(env, LlvmEnv)
        self._factory = env
        self._lock = threading.Lock()
        try:
            env.reset()
        except BaseException:
            env.close()
            raise
        self.action_space = env.action_space
        self._right: OrderedDict[tuple[str, ...], Verdict] = OrderedDict()
        self._running: dict[tuple[str, ...], threading.Event] = {}
        # The other half of the processors is for the model and for passes.
        workers = max(1, (os.cpu_count() or 1) // 2)
        self._background = ThreadPoolExecutor(workers, thread_name_prefix="compiler")
        self.pass_names = [short_name(self.action_space, name) for name in self.action_space.names]
        self.datasets = env.datasets

    def close(self) -> None:
        """Ends the service, and all sessions with it."""
        self._background.shutdown(cancel_futures=True)
        self._factory.close()

    def verified(self, key: tuple[str, ...], check: Callable[[], Verdict]) -> Verdict:
        """Verifies a program. Successes are cached.

        Learners submit the same program repeatedly. Failures are not cached, because a busy machine
        may cause some.

        Args:
            key: The name of the program, a hash of its IR, and the kind of checks.
            check: Verifies it.
        """
        with self._lock:
            if key in self._right:
                return self._right[key]
            running = self._running.get(key)
            if running is None:
                done = self._running[key] = threading.Event()
        if running is not None:  # In another thread.
            running.wait()
            return self._right.get(key) or check()
        try:
            verdict = check()
            with self._lock:
                if verdict.is_right:
                    self._right[key] = verdict
                while len(self._right) > _MAX_VERDICTS:
                    self._right.popitem(last=False)
            return verdict
        finally:
            with self._lock:
                del self._running[key]
            done.set()

    def in_background(self, env: LlvmEnv, work: Callable[[LlvmEnv], object]) -> Future[object]:
        """Calls a function in another thread, with a fork of an environment as it is now.

        Returns:
            The call, which can be cancelled until it begins.
        """
        fork = env.fork()
        future = self._background.submit(work, fork)
        future.add_done_callback(lambda _: fork.close())
        return future

    def open(self, benchmark: Benchmark | str, seconds: float) -> LlvmEnv:
        """Returns an environment that has begun an episode with a program.

        Raises:
            AgentError: If the program cannot be used.
        """
        with self._lock:
            env = self._factory.fork()
        try:
            env.reset(
                benchmark=benchmark, observation_space=None, reward_space=None, timeout=seconds
            )
        except (BenchmarkInitError, LookupError, ValueError, OSError) as error:
            env.close()
            raise AgentError(f"The program cannot be used: {text_of(error)}") from error
        except BaseException:
            env.close()
            raise
        return env


_start_lock = threading.Lock()


def shared_compiler(limits: Limits) -> Compiler:
    """Returns the compiler of this process for some limits. It ends with the process."""
    with _start_lock:
        return _started_compiler(limits)


@cache
def _started_compiler(limits: Limits) -> Compiler:
    compiler = Compiler(limits)
    atexit.register(compiler.close)
    return compiler
