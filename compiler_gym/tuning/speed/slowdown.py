"""A limit on how much slower a smaller program may be, measured by running it."""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler_gym.tuning.size.linking import LinkError
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.speed.race import Stopwatch, check_statistics
from compiler_gym.tuning.speed.workload import Workload
from compiler_gym.util.runtimes import compare_paired_runtimes

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
