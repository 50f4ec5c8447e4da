"""The cost of process isolation: steps, resets, forks and many sessions."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from benchmarks.env_player import EnvPlayer
from benchmarks.machine import busy_seconds, private_mebibytes
from benchmarks.measurements import Measurements, Summary
from benchmarks.player import timed
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.service import ConnectionOpts
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import Event, StartSessionRequest
from compiler_gym.service.session.session import Session

DIRECT = "processes"
PROCESSES_GRPC = "processes, gRPC"
COLUMNS = (DIRECT, PROCESSES_GRPC)
"""Session processes by the direct channel and without it."""

_OPTIONS = {
    DIRECT: ConnectionOpts(),
    PROCESSES_GRPC: ConnectionOpts(direct_channel=False),
}

# Finds nothing to do once it has run; and one that takes long all the same.
_IDLE_PASS = "function(dce)"
_SLOW_PASS = "function(gvn)"
_WALK = ("function(sroa)", "function(early-cse)", "function(simplifycfg)", "function(gvn)")
_WARM_UP_STEPS = 300
_BURST_STEPS = 50
# In which what is put off is done, e.g. a copy is made for the next reset or fork.
_PAUSE_SECONDS = 0.01
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class ManySessions:
    """The cost of many sessions of one service.

    Attributes:
        count: How many were open at the same time.
        start_ms: Median of the time to start one.
        memory_mib: What belongs to the process of one alone, on average.
        step_us: Median of a step with the observation Autophase.
        wrong: How many observations were not what the same steps lead to in a single session.
    """

    count: int
    start_ms: float
    memory_mib: float
    step_us: float
    wrong: int


@dataclass(frozen=True)
class Scaling:
    """The throughput of two environments compared with one.

    Attributes:
        factor: How many times the steps of one the two make together in the same time.
        busy_with_one: How many processors of the machine are busy while one plays.
        busy_with_two: The same for two.
    """

    factor: float
    busy_with_one: float
    busy_with_two: float


class IsolationBenchmark:
    """Measures on one program.

    Args:
        program: A bitcode file.
        service: The service's executable.
    """

    def __init__(self, program: Path, service: Path):
        self._program_path = program
        self._program = Benchmark.from_file("benchmark://user-v0/measured", program)
        self._service = service

    def compare(self, samples: int) -> dict[str, dict[str, Summary]]:
        """Steps, cached resets and forks by each of :data:`COLUMNS`, in microseconds."""
        measurements = Measurements()
        self._compare_steps(measurements, "idle step", samples, None, None)
        self._compare_steps(
            measurements, "... observed", samples, "Autophase", "IrInstructionCountOz"
        )
        self._compare_starts(measurements, max(samples // 10, 5))
        return measurements.summaries()

    def _compare_steps(
        self,
        measurements: Measurements,
        row: str,
        samples: int,
        observation: str | None,
        reward: str | None,
    ) -> None:
        with self._players(observation, reward) as players:
            idle = [self._actions[_IDLE_PASS]]
            for player in players.values():
                for _ in range(_WARM_UP_STEPS):
                    player.play(idle)
            jobs = {(row, column): partial(player.play, idle) for column, player in players.items()}
            # Players of one environment make one step after the other, and so both sides wait for
            # the next by looking rather than sleeping.
            for _ in range(samples // _BURST_STEPS):
                for player in players.values():
                    player.play(idle)
                measurements.take_turns(jobs, times=_BURST_STEPS)

    def _compare_starts(self, measurements: Measurements, samples: int) -> None:
        with self._players(None, None) as players:
            jobs = {}
            for column, player in players.items():
                after_step = partial(self._after_step, player)
                jobs["reset after a step", column] = partial(after_step, player.reset)
                jobs["fork after a step", column] = partial(after_step, player.fork)
                fork_and_step = partial(player.fork_and_step, self._actions[_IDLE_PASS])
                jobs["... and its first step", column] = partial(after_step, fork_and_step)
                jobs["reset after a pause", column] = partial(_after_pause, player.reset)
                jobs["fork after a pause", column] = partial(self._fork_again, player)
            for _ in range(samples):
                measurements.take_turns(jobs)

    def _after_step(self, player: EnvPlayer, job: Callable[[], float]) -> float:
        _after_pause(lambda: player.play([self._actions[_IDLE_PASS]]))
        return job()

    def _fork_again(self, player: EnvPlayer) -> float:
        """Forks twice from the same state. Returns the duration of the second."""
        player.fork()
        return _after_pause(player.fork)

    def empty_steps(self, samples: int) -> Summary:
        """Steps of a :class:`Session` without actions and observations, in microseconds."""
        measurements = Measurements()
        with CompilerGymServiceConnection(self._service) as connection:
            session = self._start(connection)
            step = partial(session.step, (), (), _TIMEOUT_SECONDS)
            for _ in range(_WARM_UP_STEPS):
                step()
            for _ in range(samples):
                measurements.take_turns({("step", DIRECT): lambda: timed(step)[0]})
            session.end(_TIMEOUT_SECONDS)
        return measurements.summaries()["step"][DIRECT]

    def slow_steps(self, seconds: float) -> tuple[float, float]:
        """Makes slow steps. Returns their median in ms, and the client's share of a processor."""
        durations = []
        with LlvmEnv(service=self._service, benchmark=self._program) as env:
            env.reset()
            action = self._actions[_SLOW_PASS]
            begin, used = time.monotonic(), time.process_time()
            while time.monotonic() - begin < seconds:
                durations.append(timed(partial(env.step, action))[0])
            share = (time.process_time() - used) / (time.monotonic() - begin)
        return statistics.median(durations) / 1e3, share

    def scaling(self, seconds: float, rounds: int) -> Scaling:
        """Lets one environment play, and two.

        Each is in a process of its own, with a service of its own.
        """
        context = multiprocessing.get_context("spawn")
        barriers = {count: context.Barrier(count) for count in (1, 2)}
        steps, busy = {1: 0, 2: 0}, {1: 0.0, 2: 0.0}
        for _ in range(rounds):
            for count, barrier in barriers.items():
                counts = context.SimpleQueue()
                arguments = (self._program_path, self._service, seconds, barrier, counts)
                players = [
                    context.Process(target=_count_steps, args=arguments) for _ in range(count)
                ]
                for player in players:
                    player.start()
                for _ in players:
                    made, processors = counts.get()
                    steps[count] += made
                    busy[count] += processors / count / rounds
                for player in players:
                    player.join()
        return Scaling(steps[2] / steps[1], busy[1], busy[2])

    def many_sessions(self, count: int) -> ManySessions:
        """Opens sessions, and lets all of them make the same steps."""
        starts, steps, wrong = [], [], 0
        with CompilerGymServiceConnection(self._service) as connection:
            spaces = [space.name for space in connection.observation_spaces]
            indices = [spaces.index("Autophase")]
            single = self._start(connection)
            sessions = []
            for _ in range(count):
                duration, session = timed(partial(self._start, connection))
                starts.append(duration)
                sessions.append(session)
            for name in _WALK:
                events = [Event(int64_value=self._actions[name])]
                expected = single.step(events, indices, _TIMEOUT_SECONDS)
                for session in sessions:
                    step = partial(session.step, events, indices, _TIMEOUT_SECONDS)
                    duration, reply = timed(step)
                    steps.append(duration)
                    wrong += reply != expected
            memory = private_mebibytes(connection.service.pid)
            for session in [single, *sessions]:
                session.end(_TIMEOUT_SECONDS)
        return ManySessions(
            count=count,
            start_ms=statistics.median(starts) / 1e3,
            memory_mib=memory / (count + 1),
            step_us=statistics.median(steps),
            wrong=wrong,
        )

    @cached_property
    def _actions(self) -> dict[str, int]:
        """The numbers of the actions, by name."""
        with LlvmEnv(service=self._service) as env:
            return {name: number for number, name in enumerate(env.action_space.names)}

    def _start(self, connection: CompilerGymServiceConnection) -> Session:
        request = StartSessionRequest(benchmark=self._program.proto)
        return Session.start(connection, request, _TIMEOUT_SECONDS)[0]

    @contextmanager
    def _players(
        self, observation: str | None, reward: str | None
    ) -> Iterator[dict[str, EnvPlayer]]:
        """A player of each column, each with a service of its own, at the start of an episode."""
        with ExitStack() as stack:
            players = {}
            for column in COLUMNS:
                connection = CompilerGymServiceConnection(self._service, _OPTIONS[column])
                player = EnvPlayer(connection, observation, reward)
                stack.callback(player.close)
                player.reset_to(self._program)
                players[column] = player
            yield players


def _after_pause(job: Callable[[], float]) -> float:
    time.sleep(_PAUSE_SECONDS)
    return job()


def _count_steps(program: Path, service: Path, seconds: float, barrier: Any, counts: Any) -> None:
    """Plays for some time together with others.

    Puts the number of steps into a queue, and how many processors of the machine were busy.
    """
    benchmark = Benchmark.from_file("benchmark://user-v0/measured", program)
    with LlvmEnv(service=service, benchmark=benchmark) as env:
        walk = [env.action_space.names.index(name) for name in _WALK]
        env.reset()
        for action in walk:
            env.step(action)
        barrier.wait()
        count, begin, busy = 0, time.monotonic(), busy_seconds()
        while time.monotonic() < begin + seconds:
            env.reset()
            for action in walk:
                env.step(action)
            count += len(walk)
        counts.put((count, (busy_seconds() - busy) / (time.monotonic() - begin)))
