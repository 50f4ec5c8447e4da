"""Compilation of the programs that policies learn from, on the workers of a pool."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from compiler_gym.distributed.pool import Pool, in_order
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.task import Job, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.tuning.policies.policy import COST, continued, costs_of, features_of, mutate
from compiler_gym.tuning.policy_training.training import BORDER, Passes, Search, pieces_of

_FORMAT = 1
# Smaller programs are too coarse: one of ten instructions is ten percent.
_SMALLEST = 100
# A sequence is given up if it is worse by more than this on the programs so far, in units of the
# mean logarithm over all programs.
_HOPELESS = 0.001
# The number of programs that are compiled before this check.
_CHUNK = 8

# Tasks of the pool. Each begins an episode of a program.


@dataclass(frozen=True)
class ProgramTask:
    """A task about one program.

    Attributes:
        program: The URI of the program.
        message: The hash of the message for the service, which is data of the job.
    """

    program: str
    message: str

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"policies": _FORMAT, "task": type(self).__name__, **asdict(self)})

    def run(self, worker: Worker) -> Any:
        """Begins an episode, and runs the task in it.

        Raises:
            LookupError: If there is no such pass.
            ServiceError: If the program cannot be compiled.
        """
        env = worker.env("llvm-v0", {})
        env.reset(benchmark=worker.program(self.message))
        return self.run_in(env)

    def run_in(self, env: LlvmEnv) -> Any:
        """Runs the task in an episode that has just begun."""
        raise NotImplementedError


@dataclass(frozen=True)
class Count(ProgramTask):
    """Counts the IR instructions of a program."""

    def run_in(self, env: LlvmEnv) -> tuple[int, int]:
        """Returns the numbers of IR instructions without optimisation, and with -Oz."""
        return int(env.observation[COST]), int(env.observation[f"{COST}Oz"])


@dataclass(frozen=True)
class Look(ProgramTask):
    """Computes the features of a program."""

    def run_in(self, env: LlvmEnv) -> np.ndarray:
        """Returns float64 [features]: see :func:`features_of`."""
        return features_of(env)


@dataclass(frozen=True)
class Compile(ProgramTask):
    """Runs a sequence of passes on a program.

    Attributes:
        passes: The sequence, or pieces with :data:`BORDER` between them, each of which continues
            from the best program so far.
    """

    passes: Passes

    def run_in(self, env: LlvmEnv) -> int:
        """Returns the smallest number of IR instructions before, between and after the passes.

        Of pieces, only what is before and after each counts.
        """
        if BORDER in self.passes:
            return continued(env, pieces_of(self.passes))[0]
        return min(costs_of(env, self.passes))


@dataclass(frozen=True)
class Tune(ProgramTask):
    """Searches a sequence that is good for a program.

    Attributes:
        tries: The number of sequences to try.
        most_passes: The maximum number of passes.
        seed: Seeds the search.
    """

    tries: int
    most_passes: int
    seed: int

    def run_in(self, env: LlvmEnv) -> Passes:
        """Returns the sequence."""
        return Search(env, self.most_passes, self.seed).run(self.tries)


class Laboratory:
    """Compiles programs with sequences of passes on the workers of a pool.

    Args:
        pool: The pool.
        programs: The programs. They are taken one by one, when workers have room for them.
        largest: Programs with more IR instructions are left out, and those with less than 100.
        watch: Called after each compilation or search.

    Attributes:
        programs: The programs that are used.
        first_sizes: int64 [programs], their numbers of IR instructions.
        sizes: int64 [programs], the numbers of IR instructions that -Oz leaves of them.

    Raises:
        RuntimeError: If a program cannot be compiled, or there are no workers.
    """

    def __init__(
        self,
        pool: Pool,
        programs: Iterable[Program],
        largest: int,
        watch: Callable[[], None] = lambda: None,
    ):
        self._pool = pool
        self._watch = watch
        found: list[Program] = []

        def jobs() -> Iterator[Job]:
            for program in programs:
                found.append(program)
                yield _job(Count, program)

        counts = np.array([*self.in_order(jobs())], dtype=np.int64).reshape(-1, 2)
        is_used = (counts[:, 0] >= _SMALLEST) & (counts[:, 0] <= largest)
        self.programs = tuple(each for each, used in zip(found, is_used, strict=True) if used)
        self.first_sizes = counts[is_used, 0]
        self.sizes = np.maximum(counts[is_used, 1], 1)

    def tuned(self, tries: int, most_passes: int, seed: int) -> Iterator[Passes]:
        """Yields a sequence for each program that is good for it.

        Args:
            tries: The number of sequences to try for each.
            most_passes: The maximum number of passes.
            seed: Seeds the search.

        Raises:
            RuntimeError: If a search fails, or there are no workers.
        """
        return self.in_order(
            _job(Tune, program, tries=tries, most_passes=most_passes, seed=seed + number)
            for number, program in enumerate(self.programs)
        )

    def logarithms(self, passes: Passes, programs: Sequence[int] | None = None) -> np.ndarray:
        """Returns what the best beginning of a sequence does to programs.

        Args:
            passes: The sequence.
            programs: Their numbers; all by default.

        Returns:
            float64 [programs], the logarithms of their sizes divided by those with -Oz.

        Raises:
            RuntimeError: If a program cannot be compiled, or there are no workers.
        """
        numbers = range(len(self.programs)) if programs is None else programs
        jobs = (self.job(Compile, number, passes=passes) for number in numbers)
        costs = np.array([*self.in_order(jobs)], dtype=np.float64)
        return np.log(costs / self.sizes[list(numbers)])

    def features(self) -> np.ndarray:
        """Returns float64 [programs, features], what networks see of the programs."""
        return np.stack([*self.in_order(_job(Look, program) for program in self.programs)])

    def concurrency(self) -> int:
        """Returns how many programs are compiled at a time."""
        return self._pool.capacity()

    def job(self, kind: type[ProgramTask], number: int, **arguments: Any) -> Job:
        """Returns a task about one of the programs.

        Args:
            kind: The class of the task.
            number: The number of the program.
            arguments: Further attributes of the task.
        """
        return _job(kind, self.programs[number], **arguments)

    def in_order(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """Runs tasks, and yields their results in the order of the tasks."""
        with closing(in_order(self._pool, jobs, lambda _: self._watch())) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    assert isinstance(outcome.task, ProgramTask)
                    raise RuntimeError(f"{outcome.task.program} failed: {outcome.error}")
                yield outcome.value


def _job(kind: type[ProgramTask], program: Program, **arguments: Any) -> Job:
    """Returns a task with the data of its program."""
    return Job(kind(program.uri, program.message, **arguments), {program.message: program.data})


class Refinement:
    """Changes a sequence a little, again and again, and keeps changes that make it better.

    Args:
        laboratory: Compiles.
        names: The names of all passes, and :data:`BORDER` to change pieces.
        passes: The sequence to begin with.
        most_passes: The maximum number of passes.
        seed: Seeds the changes.

    Attributes:
        passes: The best sequence so far.
        row: float64 [programs], the logarithms.
    """

    def __init__(
        self,
        laboratory: Laboratory,
        names: Sequence[str],
        passes: Passes,
        most_passes: int,
        seed: int,
    ):
        self._laboratory = laboratory
        self._names = names
        self._most_passes = most_passes
        self._rng = random.Random(seed)
        self.passes = passes
        self.row = laboratory.logarithms(passes)

    def step(self) -> bool:
        """Tries one change; returns whether it is kept."""
        names = self._names
        actions = mutate([names.index(name) for name in self.passes], len(names), self._rng)
        candidate = tuple(names[action] for action in actions)
        if not 0 < len(candidate) - candidate.count(BORDER) <= self._most_passes:
            return False
        row = self._row_unless_worse(candidate)
        if row is None:
            return False
        self.passes, self.row = candidate, row
        return True

    def _row_unless_worse(self, candidate: Passes) -> np.ndarray | None:
        """Returns the logarithms of a sequence; None if they are worse."""
        count = len(self.row)
        programs = self._rng.sample(range(count), count)
        row = np.zeros(count)
        worse = 0.0
        # Many workers compile several chunks at once, which does not change the decision.
        at_once = _CHUNK * math.ceil(self._laboratory.concurrency() / _CHUNK)
        for begin in range(0, count, _CHUNK):
            if begin % at_once == 0:
                numbers = programs[begin : begin + at_once]
                row[numbers] = self._laboratory.logarithms(candidate, numbers)
            chunk = programs[begin : begin + _CHUNK]
            worse += float((row - self.row)[chunk].sum())
            if worse > _HOPELESS * count:
                return None
        return row if worse <= 0 else None
