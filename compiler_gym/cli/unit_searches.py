"""The searches of the units of a build: their order, evaluations and duration."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.cli.compiled_units import Compiled
from compiler_gym.cli.wrapper_settings import BUDGET, EVALUATIONS
from compiler_gym.util.commands import served_slots

_POLL_SECONDS = 0.02

# The maximum for one unit, as a multiple of the evaluations of an average one.
_MOST_OF_AVERAGE = 10

# Runs of clang for a unit: without a change, for bitcode and from it; and one for each evaluation
# of the search, and for as many, up to a limit, to leave out what does nothing.
_RUNS, _MOST_TO_LEAVE_OUT = 3, 30
_SECONDS_TO_START = 1.0  # The time in which Python has started.


@dataclass(frozen=True)
class _Search:
    unit: Compiled
    evaluations: int

    @property
    def seconds(self) -> float:
        """The estimated processor time."""
        runs = _RUNS + self.evaluations + min(self.evaluations, _MOST_TO_LEAVE_OUT)
        return _SECONDS_TO_START + runs * self.unit.seconds


@dataclass(frozen=True)
class Begun:
    """The search of a unit that begins, and what is left.

    Attributes:
        unit: The unit.
        evaluations: The evaluations of its search.
        seconds: The estimated time of its search.
        done: The number of units that are done.
        count: The number of all units.
        seconds_left: The estimated time for all that are not done.
    """

    unit: Compiled
    evaluations: int
    seconds: float
    done: int
    count: int
    seconds_left: float


class UnitSearches:
    """Searches of all units that have code, the largest first.

    Args:
        units: The units, the largest first.
        evaluations: Evaluations for an average unit.
        jobs: The number of parallel compilers.
    """

    def __init__(self, units: Sequence[Compiled], evaluations: int, jobs: int):
        total, most = sum(unit.code for unit in units), _MOST_OF_AVERAGE * evaluations
        counts = (evaluations * len(units) * unit.code // max(1, total) for unit in units)
        self._searches = [
            _Search(unit, max(1, min(count, most)))
            for unit, count in zip(units, counts, strict=True)
        ]
        self._jobs = jobs

    @property
    def seconds(self) -> float:
        """The estimated time of all searches."""
        longest = max((each.seconds for each in self._searches), default=0.0)
        return max(longest, sum(each.seconds for each in self._searches) / self._jobs)

    def run(
        self,
        start: Callable[
            [Compiled, Mapping[str, str]], AbstractContextManager[subprocess.Popen[bytes]]
        ],
        folder: Path,
        limit: float | None,
        watch: Callable[[Begun], None],
    ) -> None:
        """Runs all searches.

        Args:
            start: Starts the compiler of a unit with some settings.
            folder: A folder for temporary files.
            limit: The time limit of all searches together in seconds; None for none.
            watch: Called when a search begins.
        """
        waiting, running = [*self._searches], dict[int, tuple[_Search, subprocess.Popen[bytes]]]()
        begin, done = time.monotonic(), 0.0
        with ExitStack() as stack:
            free = max(0, self._jobs - len(waiting))
            served = stack.enter_context(served_slots(free, folder))
            while waiting or running:
                while waiting and len(running) < self._jobs:
                    each, passed = waiting[0], time.monotonic() - begin
                    variables = {EVALUATIONS: str(each.evaluations), "MAKEFLAGS": served.makeflags}
                    if limit is not None:
                        variables[BUDGET] = f"{self._share(waiting, limit - passed):.1f}s"
                    open_searches = [*waiting, *(it for it, _ in running.values())]
                    watch(self._begun(each, open_searches, passed, done))
                    process = stack.enter_context(start(each.unit, variables))
                    running[process.pid] = waiting.pop(0), process
                ended = [pid for pid, (_, it) in running.items() if it.poll() is not None]
                for pid in ended:
                    done += running.pop(pid)[0].seconds
                if ended and not waiting:
                    served.add(len(ended))
                if not ended:
                    time.sleep(_POLL_SECONDS)

    def _share(self, waiting: Sequence[_Search], left: float) -> float:
        """Returns the share of the time for the first of the searches that wait."""
        rest = sum(each.seconds for each in waiting)
        return max(0.0, left) * min(1.0, self._jobs * waiting[0].seconds / rest)

    def _begun(
        self, search: _Search, waiting: Sequence[_Search], passed: float, done: float
    ) -> Begun:
        # The time of former searches corrects the estimate.
        ratio = passed * self._jobs / done if done else 1.0
        return Begun(
            unit=search.unit,
            evaluations=search.evaluations,
            seconds=search.seconds * ratio,
            done=len(self._searches) - len(waiting),
            count=len(self._searches),
            seconds_left=sum(each.seconds for each in waiting) * ratio / self._jobs,
        )
