"""Evaluation of a policy in several processes of this machine."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle

from compiler_gym.datasets import Benchmark
from compiler_gym.distributed.opening import open_pool
from compiler_gym.distributed.pool import Limits, in_order
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job
from compiler_gym.distributed.threads import Call
from compiler_gym.distributed.worker import Worker
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.evaluation.episodes import Episodes
from compiler_gym.evaluation.rows import EvaluationRow

_TRIES = 2


class _Stage:
    """Episodes with their environment."""

    def __init__(self, episodes: Episodes):
        self._episodes = episodes
        self._env = episodes.make_env()

    def play(self, program: str, benchmark: Any) -> list[EvaluationRow] | BenchmarkInitError:
        played = self._episodes.of(self._env, program, benchmark)
        # Other errors may not be pickled.
        return BenchmarkInitError(str(played)) if isinstance(played, Exception) else played

    def close(self) -> None:
        self._env.close()


@dataclass(frozen=True)
class _Opener:
    """Opens the stage of a process, which all its programs share."""

    packed: bytes

    def __call__(self) -> _Stage:
        return _Stage(cloudpickle.loads(self.packed))


def _play(opener: _Opener, program: str, message: str, worker: Worker) -> Any:
    benchmark = worker.program(message) if message else program
    return worker.env_of(opener).play(program, benchmark)


def played_in_processes(
    episodes: Episodes, benchmarks: Iterable[tuple[str, Benchmark]], workers: int
) -> Iterator[tuple[str, list[EvaluationRow] | BenchmarkInitError]]:
    """Plays on some programs at a time. Yields each with its rows, or with the error, in order.

    Args:
        episodes: The episodes of each program, which are sent to the processes.
        benchmarks: The URIs of the programs, with the programs. Those whose output is checked are
            looked up by their URI.
        workers: The number of processes.

    Raises:
        TypeError: The policy, or an argument of the environment, cannot be sent.
        RuntimeError: A policy fails, or its process has ended. The text has the error.
    """
    try:
        opener = _Opener(cloudpickle.dumps(episodes))
    except Exception as error:
        raise TypeError(
            "jobs: expected a policy and arguments that can be sent to other processes, got one "
            f"that cannot be pickled: {error}; try jobs=1"
        ) from error

    def jobs() -> Iterator[Job]:
        for uri, benchmark in benchmarks:
            if episodes.check and not uri.startswith("file://"):
                yield Job(Call(uri, partial(_play, opener, uri, "")))
            else:
                found = Program.of(benchmark)
                call = Call(uri, partial(_play, opener, uri, found.message))
                yield Job(call, {found.message: found.data})

    limits = Limits(workers, _TRIES, task_seconds=math.inf)
    with open_pool(limits=limits) as pool:
        for outcome in in_order(pool, jobs()):
            if outcome.error is not None:
                raise RuntimeError(f"{outcome.task.name}: {outcome.error}\n{outcome.details}")
            yield outcome.task.name, outcome.value
