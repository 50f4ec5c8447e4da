"""Programs that can be run: links, checks, measured races, and a limit on slowdowns."""

import math
import os
import resource
import shlex
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.validation import (
    RUN_TIMEOUT_SECONDS,
    ProgramValidator,
    build_program,
    run_program,
)
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.linking import Linker, LinkError
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util.commands import run_command
from compiler_gym.util.statistics import (
    RuntimeComparison,
    compare_paired_runtimes,
    scipy_statistics,
)

_RUN_SECONDS = 600
_RESOLUTION_SECONDS = 1e-6
_MAX_CHARACTERS = 500


class RunError(ValueError):
    """A program does not run as it should. The text says why."""


class Workload(ABC):
    """A workload: the runs with which a program is measured."""

    @abstractmethod
    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file to a program.

        Raises:
            LinkError: If that is not possible.
        """

    @abstractmethod
    def check(self, program: Path) -> str:
        """Runs a program. Returns the error in its output; empty if there is none."""

    @abstractmethod
    def run(self, program: Path) -> None:
        """Runs a program once on everything that it is measured with.

        Raises:
            RunError: If it does not end as it should.
        """

    def seconds(self, program: Path) -> float:
        """Returns the processor time of one :meth:`run`, of all its processes, in seconds.

        Other programs that want the processor take less from that than from the time on the clock.

        Raises:
            RunError: See :meth:`run`.
        """
        begin = _time_of_children()
        self.run(program)
        return max(_time_of_children() - begin, _RESOLUTION_SECONDS)


def _time_of_children() -> float:
    # Of those that have ended. No compiler runs during measurements, so nothing else ends.
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class ProgramWorkload(Workload):
    """A program of a dataset, with inputs, and what it must print.

    Attributes:
        validator: Knows the inputs.
    """

    validator: ProgramValidator

    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file to a program."""
        error = build_program(object_file, program, self.validator.linker_options)
        if error:
            raise LinkError(str(error))

    def check(self, program: Path) -> str:
        """Runs a program. Returns the error in its output; empty if there is none."""
        return "; ".join(str(error) for error in self.validator.errors_of_executable(program))

    def run(self, program: Path) -> None:
        """Runs a program once on all inputs of the measurement."""
        for run in self.validator.runs:
            error = run_program(program, run, Path(os.devnull), RUN_TIMEOUT_SECONDS)
            if error:
                raise RunError(str(error))


@dataclass
class CommandWorkload(Workload):
    """A command of the user's, which runs in the current folder.

    What it prints must be the same each time, and its exit code 0.

    Attributes:
        command: The command of a shell. ``{}`` stands for the path of the program, which is also
            the value of the environment variable ``PROGRAM``.
        linker: Links it.
        expected: What it prints; known after the first check.
    """

    command: str
    linker: Linker = field(default_factory=Linker)
    expected: bytes | None = field(default=None, init=False)

    def link(self, object_file: Path, program: Path) -> None:
        """Links an object file to a program."""
        self.linker.link(object_file, program)

    def check(self, program: Path) -> str:
        """Runs a program. The output of the first program is the expected one."""
        try:
            printed = self._printed(program)
            if self.expected is None:
                self.expected, printed = printed, self._printed(program)
                if printed != self.expected:
                    return (
                        "it prints something else each time: let it print what is to be compared, "
                        "and send the rest to /dev/null"
                    )
        except RunError as error:
            return str(error)
        return "" if printed == self.expected else "it prints something else"

    def run(self, program: Path) -> None:
        """Runs a program once on all inputs of the measurement."""
        self._printed(program)

    def _printed(self, program: Path) -> bytes:
        """Runs the command, and returns its standard output."""
        text = self.command.replace("{}", shlex.quote(str(program)))
        environment = {**tools.command_environment(), "PROGRAM": str(program)}
        try:
            done = run_command(
                ["/bin/sh", "-c", text], _RUN_SECONDS, env=environment, text=False, check=False
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"it takes more than {_RUN_SECONDS} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            said = said[-_MAX_CHARACTERS:]
            raise RunError(f"exit code {done.returncode}" + (f": {said}" if said else ""))
        return done.stdout


# Measures programs in turns, and gives more runs to those that look faster.

T = TypeVar("T")

# How many runs each has at the end of a heat.
HEATS = (3, 6, 12, 24)
# A rank test of fewer pairs is never significant at 5 %.
_MIN_ROUNDS = 6
_RESAMPLES = 2000


@dataclass
class Runner(Generic[T]):
    """A program in a race.

    Attributes:
        program: The program.
        ratios: By round, how long the reference took divided by how long this one did.
    """

    program: T
    ratios: list[float] = field(default_factory=list)

    @property
    def speedup(self) -> float:
        """The median of the ratios: above 1 if it is faster than the reference."""
        return float(np.median(self.ratios))

    def compare(self) -> RuntimeComparison:
        """Compares it with the reference."""
        return compare_paired_runtimes(self.ratios, [1.0] * len(self.ratios), resamples=_RESAMPLES)


@dataclass(frozen=True)
class Result(Generic[T]):
    """The result of a race.

    Attributes:
        winner: The program that is significantly faster than the reference; None if none is.
        runners: Those that have not failed at once, with their ratios.
    """

    winner: Runner[T] | None
    runners: list[Runner[T]]


class Stopwatch(Generic[T]):
    """Runs programs in turns.

    Args:
        seconds: Runs a program, and says how long it took.
        rng: Draws who begins.
        is_over: Whether there is no time for another round.
    """

    def __init__(
        self,
        seconds: Callable[[T], float],
        rng: np.random.Generator,
        is_over: Callable[[], bool] = lambda: False,
    ):
        self._seconds = seconds
        self._rng = rng
        self._is_over = is_over

    def race(self, reference: T, programs: Sequence[T]) -> Result[T]:
        """Finds the fastest of programs that are faster than another one.

        After each heat at least half of them are out: those that look slowest, and those that do
        not look faster than the reference. What the last one won by is more than it deserves, as
        the luckiest of several is chosen: measure it again.

        Args:
            reference: What they are compared with; it runs in each round.
            programs: The programs. One that fails is out.
        """
        runners = [Runner(each) for each in programs]
        left = runners
        for rounds in HEATS:
            left = self._run_heat(reference, left, rounds)
            faster = sorted((each for each in left if each.speedup > 1), key=_slowness)
            left = faster[: max(1, len(left) // 2)]
            if not left:
                break
        first = left[0] if left else None
        is_faster = first is not None and len(first.ratios) >= _MIN_ROUNDS
        winner = first if first and is_faster and first.compare().is_significant else None
        return Result(winner, [each for each in runners if each.ratios])

    def _run_heat(self, reference: T, left: list[Runner[T]], rounds: int) -> list[Runner[T]]:
        """Runs programs until each has had so many rounds; returns those that have not failed."""
        while left and len(left[0].ratios) < rounds and not self._is_over():
            times = self.round([reference, *(each.program for each in left)])
            base = times[0]
            if base is None:
                return []
            rest = zip(left, times[1:], strict=True)
            met = [(each, time) for each, time in rest if time is not None]
            for each, time in met:
                each.ratios.append(base / time)
            left = [each for each, _ in met]
        return [each for each in left if each.ratios]

    def round(self, programs: Sequence[T]) -> list[float | None]:
        """Runs each program once, in a random order. Returns their seconds, None if one fails."""
        times: list[float | None] = [None] * len(programs)
        for index in self._rng.permutation(len(programs)):
            try:
                times[index] = self._seconds(programs[index])
            except ValueError:
                continue
        return times

    def compare(
        self, first: T, second: T, pairs: int, watch: Callable[[int], None] = lambda _: None
    ) -> tuple[list[float], list[float]]:
        """Runs two programs in turns; as many pairs as there is time for.

        Args:
            first: A program.
            second: Another one.
            pairs: How often each is to run.
            watch: Called after each pair with how many there were.

        Returns:
            The seconds of the runs of the first and of the second, by pair. None at all if one
            fails.
        """
        before: list[float] = []
        after: list[float] = []
        while len(before) < pairs and not self._is_over():
            one, other = self.round([first, second])
            if one is None or other is None:
                return [], []
            before.append(one)
            after.append(other)
            watch(len(before))
        return before, after


def check_statistics() -> None:
    """Checks that runs can be compared.

    Raises:
        EnvironmentNotSupported: If SciPy is not installed. The text says how to install it.
    """
    try:
        scipy_statistics()
    except ImportError as error:
        raise EnvironmentNotSupported(str(error)) from error


def _slowness(runner: Runner[T]) -> float:
    return -runner.speedup


# A limit on how much slower a smaller program may be, measured by running it.

_PAIRS = 12
# Shorter runs are repeated, as what starts a program is not what is compiled.
_SAMPLE_SECONDS, _MAX_REPEATS = 0.02, 20


@dataclass(frozen=True)
class Slowdown:
    """The time of a program relative to that of clang's.

    Attributes:
        ratio: The median ratio of times: above 1 for a slower program.
        low: The lower bound of the confidence interval of the ratio.
        high: The upper bound.
        confidence: The confidence of the interval.
    """

    ratio: float
    low: float
    high: float
    confidence: float


class SlowdownLimit:
    """A check that a program is right, and not slower than allowed.

    The first object file that it is given, that of clang, is what others are compared with. The two
    programs run in turns, and the median ratio of their processor times counts.

    Args:
        workload: Links and runs the program.
        limit: The largest ratio of times that is allowed, such as 1.1.
        seed: Seeds the order in which programs run.

    Raises:
        EnvironmentNotSupported: If SciPy is not installed.

    Attributes:
        measured: The slowdown of each object file that was within the limit, by its digest.
    """

    def __init__(self, workload: Workload, limit: float, seed: int = 0):
        check_statistics()
        self.measured: dict[str, Slowdown] = {}
        self._workload = workload
        self._limit = limit
        self._folder = tempfile.TemporaryDirectory(prefix="compiler_gym-")
        self._reference: Path | None = None
        self._repeats = 1
        self._stopwatch = Stopwatch(self._seconds, np.random.default_rng(seed))

    def __call__(self, path: Path) -> str:
        """Returns what is wrong with an object file; nothing if it is right and fast enough."""
        digest = read_object(path).digest
        # Names of one length: the stack begins below them, and its place matters to some programs.
        program = Path(self._folder.name) / digest[:16]
        try:
            self._workload.link(path, program)
        except LinkError as error:
            return str(error)
        why = self._workload.check(program)
        if not why and self._reference is None:
            self._take_reference(program)
        elif not why and program != self._reference:
            why = self._why_slow(program, digest)
        if program != self._reference:
            program.unlink(missing_ok=True)
        return why

    def _take_reference(self, program: Path) -> None:
        self._reference = program
        seconds = min(self._workload.seconds(program) for _ in range(3))
        self._repeats = min(max(1, math.ceil(_SAMPLE_SECONDS / seconds)), _MAX_REPEATS)

    def _why_slow(self, program: Path, digest: str) -> str:
        assert self._reference is not None
        before, after = self._stopwatch.compare(self._reference, program, _PAIRS)
        if not before:
            return "it failed in one of many runs"
        # The times that are divided come first.
        found = compare_paired_runtimes(after, before)
        slowdown = Slowdown(found.speedup, found.low, found.high, found.confidence)
        if slowdown.ratio > self._limit:
            return (
                f"it takes {slowdown.ratio:.2f} times as long as what clang makes, and "
                f"--max-slowdown allows {self._limit:g}"
            )
        self.measured[digest] = slowdown
        return ""

    def _seconds(self, program: Path) -> float:
        return sum(self._workload.seconds(program) for _ in range(self._repeats))
