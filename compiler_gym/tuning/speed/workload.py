"""Programs that can be run: links, checks, measured races, and a limit on slowdowns."""

import math
import os
import resource
import shlex
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from typing_extensions import override

from compiler_gym.envs.llvm.benchmarks.validation import (
    RUN_TIMEOUT_SECONDS,
    ProgramValidator,
    build_program,
    measure_program,
)
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.optional_packages import require
from compiler_gym.util.shell_format import how_it_failed
from compiler_gym.util.statistics import (
    RuntimeComparison,
    compare_paired_runtimes,
)

_RUN_SECONDS = 600
_RESOLUTION_SECONDS = 1e-6
_PROFILE = "compiler_gym.profraw"


class RunError(ValueError):
    """A failed run of a program. The text has the reason."""


class Workload(ABC):
    """The runs by which a program is measured."""

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
        """Runs a program once on all inputs of the measurement.

        Raises:
            RunError: If it fails.
        """

    def train(self, program: Path, raw: Path) -> None:
        """Runs an instrumented program as :meth:`run` does.

        Args:
            program: The program. It writes its profile to the folder that it was compiled with.
            raw: That folder.

        Raises:
            RunError: See :meth:`run`.
        """
        self.run(program)

    @abstractmethod
    def limit(self, seconds: float) -> None:
        """Sets the time limit of each run. A wrong option can make a program run for ever."""

    def seconds(self, program: Path) -> float:
        """Returns the processor time of one :meth:`run`, of all its processes, in seconds.

        Other programs on the machine affect the processor time less than the elapsed time.

        Raises:
            RunError: See :meth:`run`.
        """
        begin = _time_of_children()
        self.run(program)
        return max(_time_of_children() - begin, _RESOLUTION_SECONDS)


def _time_of_children() -> float:
    # The time of children that have ended. No compiler runs during measurements, so there are no
    # others.
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass
class ProgramWorkload(Workload):
    """A program of a dataset, with inputs and expected outputs.

    Attributes:
        validator: Has the inputs.
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
        self.seconds(program)

    def seconds(self, program: Path) -> float:
        """Returns the processor time of one :meth:`run`, without that to confine the program."""
        total = 0.0
        for run in self.validator.runs:
            limit = RUN_TIMEOUT_SECONDS if run.seconds is None else run.seconds
            error, seconds = measure_program(program, run, Path(os.devnull), limit)
            if error:
                raise RunError(str(error))
            total += seconds
        return max(total, _RESOLUTION_SECONDS)

    @override
    def train(self, program: Path, raw: Path) -> None:
        raw.mkdir(exist_ok=True)
        for number, run in enumerate(self.validator.runs):
            # A confined program writes to its own folder alone, where it has to leave the profile.
            command = f'export LLVM_PROFILE_FILE="$PWD/{_PROFILE}"; {run.command}'
            profiled = replace(run, command=command, expected_files=[(_PROFILE, Path(os.devnull))])
            limit = RUN_TIMEOUT_SECONDS if run.seconds is None else run.seconds
            written = [raw / f"{number}.profraw"]
            error, _ = measure_program(program, profiled, Path(os.devnull), limit, written)
            if error:
                raise RunError(str(error))

    def limit(self, seconds: float) -> None:
        """Sets the time limit of each run."""
        runs = [replace(run, seconds=seconds) for run in self.validator.runs]
        self.validator = replace(self.validator, runs=runs)


@dataclass
class CommandWorkload(Workload):
    """A command of the user's, which runs in the current folder.

    Its output must be the same each time, and its exit code 0.

    Attributes:
        command: The command of a shell. ``{}`` stands for the path of the program, which is also
            the value of the environment variable ``PROGRAM``.
        linker: Links the program.
        expected: The expected output; known after the first check.
        limit_seconds: The time limit of a run.
    """

    command: str
    linker: Linker = field(default_factory=Linker)
    expected: bytes | None = field(default=None, init=False)
    limit_seconds: float = field(default=_RUN_SECONDS, init=False)

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

    def limit(self, seconds: float) -> None:
        """Sets the time limit of each run."""
        self.limit_seconds = seconds

    def _printed(self, program: Path) -> bytes:
        """Runs the command, and returns its standard output."""
        text = self.command.replace("{}", shlex.quote(str(program)))
        environment = {**llvm_tools.command_environment(), "PROGRAM": str(program)}
        try:
            done = run_command(
                ["/bin/sh", "-c", text],
                self.limit_seconds,
                env=environment,
                text=False,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"it takes more than {self.limit_seconds:g} s") from None
        if done.returncode:
            said = (text.decode(errors="replace") for text in (done.stderr, done.stdout))
            raise RunError(how_it_failed(done.returncode, *said))
        return done.stdout


# Races, which measure programs in turns and give more runs to those that look faster.

T = TypeVar("T")

# The number of runs of each program at the end of a heat.
HEATS = (3, 6, 12, 24)
# A rank test of fewer pairs is never significant at 5 %.
_MIN_ROUNDS = 6
_RESAMPLES = 2000


@dataclass
class Runner(Generic[T]):
    """A program in a race.

    Attributes:
        program: The program.
        ratios: The time of the reference divided by the time of this program, for each round.
    """

    program: T
    ratios: list[float] = field(default_factory=list)

    @property
    def speedup(self) -> float:
        """The median of the ratios: above 1 for a program that is faster than the reference."""
        return float(np.median(self.ratios))

    def compare(self) -> RuntimeComparison:
        """Compares the program with the reference."""
        return compare_paired_runtimes(self.ratios, [1.0] * len(self.ratios), resamples=_RESAMPLES)


@dataclass(frozen=True)
class Result(Generic[T]):
    """The result of a race.

    Attributes:
        winner: The program that is significantly faster than the reference; None if none is.
        runners: The programs that have not failed at once, with their ratios.
    """

    winner: Runner[T] | None
    runners: list[Runner[T]]


class Stopwatch(Generic[T]):
    """Runs programs in turns.

    Args:
        seconds: Runs a program, and returns its time.
        rng: Draws the order.
        is_over: Returns true if there is no time for another round.
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
        """Finds the fastest program that is faster than the reference.

        Each heat removes at least half of the programs: those that look slowest, and those that do
        not look faster than the reference. The winner's lead is too high, because the luckiest of
        several is chosen: measure it again.

        Args:
            reference: The program to compare with. It runs in each round.
            programs: The programs. A program that fails is removed.
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
        """Runs programs until each has had this number of rounds.

        Returns:
            The programs that have not failed.
        """
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
        """Runs each program once, in a random order. Returns their times, None if one fails."""
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
        """Runs two programs in turns while there is time.

        Args:
            first: A program.
            second: Another one.
            pairs: The number of runs of each.
            watch: Called after each pair with the number of pairs so far.

        Returns:
            The times of both programs, by pair. Nothing if one of them fails.
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
    require("scipy.stats")


def _slowness(runner: Runner[T]) -> float:
    return -runner.speedup


# A limit on the slowdown of a smaller program, measured by runs.

_PAIRS = 12
# Shorter runs are repeated, so that the start of the program matters less.
_SAMPLE_SECONDS, _MAX_REPEATS = 0.02, 20


@dataclass(frozen=True)
class Slowdown:
    """The time of a program relative to the program of clang.

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
    """A check that a program is right and within a limit of slowdown.

    The first object file must be that of clang. Others are compared with it. The two programs run
    in turns, and the median ratio of their processor times counts.

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
        """Returns the problem of an object file; nothing if it is right and fast enough."""
        digest = read_object(path).digest
        # Names of equal length: the stack begins below them, and its position affects some
        # programs.
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
        # The first argument has the numerators.
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
