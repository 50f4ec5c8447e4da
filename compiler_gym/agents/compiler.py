"""The compiler that the workbenches of a process share."""

import atexit
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache

from cachetools import LRUCache

import compiler_gym
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.agents.texts import kept_symbols
from compiler_gym.agents.verify import Verdict
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.llvm_command_line import short_name
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.workbench import KeptStates, Objective, Sessions, closed_on_error
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.explorer import limits as explorer_limits
from compiler_gym.explorer.commands import Tools
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.util.processors import processors

FunctionRow = tuple[str, int, int, int, int]
"""The name, instructions, blocks, loops and depth of loops of a function."""

_MAX_VERDICTS = 10_000
# The total of the programs that are kept open. Those of kernels-v0 have 118,418 together.
_MAX_KEPT_INSTRUCTIONS = 400_000
# Background work begins after a pause in the calls, so that it does not slow down the next call.
_PAUSE_SECONDS = 0.03
_MAX_DELAY_SECONDS = 0.3


@dataclass
class Measurements:
    """Measurements of a program in one state, filled in as they are made.

    Branches in the same state share them.

    Attributes:
        costs: The costs.
        functions: The functions with a body; None if not measured.
        ir_sha1: A hash of the program; None if not measured.
    """

    costs: dict[Objective, int] = field(default_factory=dict)
    functions: list[FunctionRow] | None = None
    ir_sha1: str | None = None


@dataclass(frozen=True)
class Original:
    """A program before any pass.

    Attributes:
        env: An environment that holds it.
        symbols: The symbols that other modules may use.
        measured: Its measurements.
        baselines: The costs that the levels of clang leave, filled in as they are measured.
    """

    env: LlvmEnv
    symbols: frozenset[str]
    measured: Measurements = field(default_factory=Measurements)
    baselines: dict[tuple[Objective, str], int] = field(default_factory=dict)


class Compiler:
    """A service of the compiler, in which each program has a process of its own.

    Methods may be called from any thread.

    Args:
        limits: The limits of sources and processes.

    Attributes:
        limits: The same.
        tools: Runs the compiler for sources of agents.

    Raises:
        EnvironmentNotSupported: If the LLVM service is not built.
        ServiceInitError: If it does not start.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self.tools = Tools(
            explorer_limits.Limits(
                is_public=True,
                source_bytes=limits.source_bytes,
                compile_seconds=limits.compile_seconds,
                tool_seconds=limits.compile_seconds,
                tool_mib=limits.session_mib,
            )
        )
        flags = [f"--session_memory_mib={limits.session_mib}"]
        env = compiler_gym.make("llvm-v0", connection_settings=ConnectionOpts(script_args=flags))
        assert isinstance(env, LlvmEnv)
        self._sessions = Sessions(env)
        self._lock = threading.Lock()
        self.action_space = env.action_space
        self._right: LRUCache[tuple[str, ...], Verdict] = LRUCache(_MAX_VERDICTS)
        self._running: dict[tuple[str, ...], threading.Event] = {}
        self._originals: KeptStates[str, Original] = KeptStates(
            _MAX_KEPT_INSTRUCTIONS, lambda original: original.measured.costs["instructions"]
        )
        self._last_call = 0.0
        self._background = ThreadPoolExecutor(processors(), "compiler")
        self.pass_names = [short_name(self.action_space, name) for name in self.action_space.names]
        self.datasets = env.datasets

    def close(self) -> None:
        """Ends the service, and all sessions with it."""
        self._background.shutdown(cancel_futures=True)
        self._originals.clear()
        self._sessions.close()

    def is_verified(self, key: tuple[str, ...]) -> bool:
        """Returns true if :meth:`verified` has a cached success."""
        return key in self._right

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
            with self._lock:
                verdict = self._right.get(key)
            return verdict or check()
        try:
            verdict = check()
            with self._lock:
                if verdict.is_right:
                    self._right[key] = verdict
            return verdict
        finally:
            with self._lock:
                del self._running[key]
            done.set()

    def in_background(self, work: Callable[[], object]) -> Future[None]:
        """Calls a function in another thread, after a pause in such calls.

        It has the usual priority. At the lowest one, on a machine with other work, rewards waited
        for verifications for seconds, and calls were not quicker.
        """
        submitted = self._last_call = time.monotonic()

        def run() -> None:
            while True:
                now = time.monotonic()
                begin = min(self._last_call + _PAUSE_SECONDS, submitted + _MAX_DELAY_SECONDS)
                if now >= begin:
                    break
                time.sleep(begin - now)
            work()

        return self._background.submit(run)

    def open(
        self,
        benchmark: Benchmark | str,
        seconds: float,
        keep: bool = False,
        check_ir: Callable[[str], None] | None = None,
    ) -> Original:
        """Opens a program: returns it before any pass, in a new environment.

        Args:
            benchmark: The program.
            seconds: The time limit of its compilation.
            keep: Keep a copy, so that the program is opened sooner the next time. Only for programs
                that are always the same under their name.
            check_ir: Called with the textual IR, unless the program was kept.

        Raises:
            AgentError: If the program cannot be used.
            Exception: Any error of ``check_ir``.
        """
        if not keep:
            return self._opened(benchmark, seconds, check_ir)
        return self._originals.call(
            str(benchmark if isinstance(benchmark, str) else benchmark.uri),
            lambda: self._opened(benchmark, seconds, check_ir),
            lambda original: replace(original, env=original.env.fork()),
        )

    def _opened(
        self,
        benchmark: Benchmark | str,
        seconds: float,
        check_ir: Callable[[str], None] | None,
    ) -> Original:
        try:
            env = self._sessions.begin(benchmark, seconds)
            with closed_on_error(env):
                instructions, ir = env.observation.observe(["IrInstructionCount", "Ir"])
                if check_ir is not None:
                    check_ir(ir)
        except (BenchmarkInitError, LookupError, ValueError, OSError) as error:
            raise AgentError(f"The program cannot be used: {text_of(error)}") from error
        return Original(env, kept_symbols(ir), Measurements({"instructions": int(instructions)}))


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
